#include "command_line.h"

#include "run_command_line.h"

namespace weft::python {

void add_command_line(nb::module_& m) {
  m.def(
      "command_line",
      [](nb::list arguments) {
        std::vector<std::string> words;
        for (nb::handle argument : arguments) words.push_back(nb::cast<std::string>(argument));
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        // Ctrl-C is the command line's own.
        const nb::gil_scoped_release release;
        return app::run_command_line(static_cast<int>(words.size()), pointers.data());
      },
      nb::arg("arguments"), "Does what the command line does in a process of its own; its exit code.");
}

}  // namespace weft::python
