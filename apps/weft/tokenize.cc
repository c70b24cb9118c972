// weft tokenize: prints token ids as a model receives them.

#include "commands.h"
#include "onnx_sentences.h"
#include "output.h"
#include "sentences.h"
#include "weft/models.h"
#include "weft/text.h"

namespace weft::app {

void add_tokenize(CLI::App& app) {
  auto a = std::make_shared<SentenceArguments>();
  CLI::App* command = app.add_subcommand("tokenize", "Show the token ids that a model gets for each sentence");
  add_sentence_arguments(*command, *a);
  command->footer(std::string(kInputHelp) +
                  "A line of output is {\"ids\": [101, …, 102]}: special tokens and the model's prompt included,\n"
                  "cut to its max_seq_length.\n\n"
                  "Example: echo 'One sentence.' | weft tokenize --model MODEL -\n");
  command->callback([a] {
    say_if_typed(a->input);
    const auto file = find_onnx(a->model);
    const std::filesystem::path folder = file ? folder_of_onnx(*file) : std::filesystem::path(a->model);
    const text::Tokenizer tokenizer = text::Tokenizer::load(folder).with_prompt(models::prompt_text(folder, a->prompt));
    constexpr std::size_t kWindow = 4096;
    SentenceQueue sentences(*a, 2 * kWindow);
    Output out("-");
    std::size_t cut = 0;
    for (std::vector<std::string> next; !(next = sentences.take(kWindow)).empty();) {
      std::size_t cut_here = 0;
      for (const text::Ids& ids : tokenizer.encode_batch(next, &cut_here)) {
        std::string line = "{\"ids\": [";
        for (std::size_t i = 0; i < ids.size(); ++i) line += (i ? ", " : "") + std::to_string(ids[i]);
        out.write(line + "]}\n");
      }
      cut += cut_here;
      out.flush();
    }
    out.commit();
    sentences.report(cut, tokenizer.max_length());
  });
}

}  // namespace weft::app
