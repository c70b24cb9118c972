// weft tokenize: the ids that a model gets.

#include "commands.h"
#include "output.h"
#include "sentences.h"
#include "text/input.h"
#include "weft/text.h"

namespace weft::app {

void add_tokenize(CLI::App& app) {
  auto a = std::make_shared<SentenceArguments>();
  CLI::App* command = app.add_subcommand("tokenize", "Show the token ids that a model gets for each sentence");
  add_sentence_arguments(*command, *a);
  command->footer(std::string(kInputHelp) +
                  "A line of output is {\"ids\": [101, …, 102]}: special tokens included, cut to the model's\n"
                  "max_seq_length.\n\n"
                  "Example: echo 'One sentence.' | weft tokenize --model MODEL -\n");
  command->callback([a] {
    const text::Tokenizer tokenizer = text::Tokenizer::load(a->model);
    text::SentenceReader reader(a->input);
    Output out("-");
    std::vector<std::string> sentences;
    while (reader.next_batch(4096, sentences)) {
      for (const text::Ids& ids : tokenizer.encode_batch(sentences)) {
        std::string line = "{\"ids\": [";
        for (std::size_t i = 0; i < ids.size(); ++i) line += (i ? ", " : "") + std::to_string(ids[i]);
        out.write(line + "]}\n");
      }
      out.flush();
    }
    out.commit();
  });
}

}  // namespace weft::app
