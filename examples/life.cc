// Conway's game of life on a torus, seen in the terminal: life [STEPS]. A gun fires a glider every 30 steps.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/indexing.h"

using namespace weft;

namespace {

// A living cell has two or three living neighbours, a new one is born where there are three.
Tensor step(const Tensor& board) {
  Tensor around = -board;
  for (const int y : {-1, 0, 1}) {
    for (const int x : {-1, 0, 1}) around = around + roll(board, {y, x}, {0, 1});
  }
  return where((around == 3) | ((around == 2) & (board == 1)), 1, 0);
}

// The rows of text, where 'O' is a living cell, in the upper left of an empty board.
Tensor board_of(const std::vector<std::string>& rows, std::int64_t height, std::int64_t width) {
  std::vector<float> cells;
  for (const std::string& row : rows) {
    for (const char cell : row) cells.push_back(cell == 'O');
  }
  const auto h = static_cast<std::int64_t>(rows.size()), w = static_cast<std::int64_t>(rows[0].size());
  auto board = zeros({height, width}, DType::i32);
  return board.set({slice(2, 2 + h), slice(2, 2 + w)}, tensor({h, w}, cells));
}

// Two rows of cells in each line of text.
std::string picture(const Tensor& board) {
  const std::vector<int> cells = board.to_vector<int>();
  const auto width = static_cast<std::size_t>(board.shape()[1]);
  std::string text;
  for (std::size_t row = 0; row < cells.size(); row += 2 * width) {
    for (std::size_t i = row; i < row + width; ++i) {
      const bool upper = cells[i] != 0, lower = cells[i + width] != 0;
      text += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
    }
    text += "\n";
  }
  return text;
}

const std::vector<std::string> kGlider = {".O.", "..O", "OOO"};
const std::vector<std::string> kGun = {  // found by Bill Gosper in 1970
    "........................O...........", "......................O.O...........",
    "............OO......OO............OO", "...........O...O....OO............OO",
    "OO........O.....O...OO..............", "OO........O...O.OO....O.O...........",
    "..........O.....O.......O...........", "...........O...O....................",
    "............OO......................"};

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 120;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  auto board = board_of(kGun, 48, 80);
  const auto gun = board.sum().item<int>();
  bool right = true;
  for (int i = 1; i <= steps; ++i) {
    board = step(board);
    eval(board);
    if (terminal) {
      std::printf("\033[H\033[2J%s", picture(board).c_str());
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
    }
    // After each period the gun is as it was, with one more glider of five cells. The first of them comes round and
    // hits the gun after more than four periods.
    if (i % 30 == 0 && i <= 120) right = right && board.sum().item<int>() == gun + i / 30 * 5;
  }
  if (!terminal) std::printf("%s", picture(board).c_str());

  // A glider goes one cell down and to the right in four steps, also around the edges.
  const auto start = board_of(kGlider, 16, 20);
  auto glider = start;
  for (int i = 0; i < 4 * 37; ++i) glider = step(glider);
  right = right && all(glider == roll(start, {37, 37}, {0, 1})).item<bool>();
  std::printf("%d steps, %d living cells; %s\n", steps, board.sum().item<int>(), right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
