// weft: the command line. Exit codes: 0, 1 (something failed; a line on standard error gives the reason), 2 (usage),
// 128 + signal (129: the terminal is gone; 130: interrupted; 141: nobody reads standard output any more, as of a
// program that SIGPIPE ends).
#pragma once

namespace weft::app {

// Of a process that does nothing else: what signals do, which it sets, and what is read and written are a program's.
int run_command_line(int argc, char** argv);

}  // namespace weft::app
