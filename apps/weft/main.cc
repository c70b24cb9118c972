#include "run_command_line.h"

int main(int argc, char** argv) { return weft::app::run_command_line(argc, argv); }
