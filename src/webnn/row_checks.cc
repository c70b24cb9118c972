#include "webnn/row_checks.h"

#include <algorithm>

#include "core/is_or_are.h"
#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

Shape checked_shape(const Call& call, const Sizes& shape) {
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) {
    call.fail("the output would be {}, expected a rank of at most {}", to_string(shape), kMaxRank);
  }
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 1 || size > kMostSize) {
      call.fail("the output would be {}, expected sizes from 1 to {}", to_string(shape), kMostSize);
    }
    if (count > kMostSize / size) {
      call.fail("the output would be {}, expected at most {} elements", to_string(shape), kMostSize);
    }
    count *= size;
  }
  return to_shape(shape);
}

void check_positive(const Call& call, std::string_view name, const Sizes& list) {
  if (std::ranges::find(list, 0) != list.end()) {
    call.fail("{} are {}, expected numbers of 1 or more", name, to_string(list));
  }
}

const Sizes& counted(const Call& call, std::string_view name, const Sizes& list, std::size_t count) {
  if (list.size() != count) {
    call.fail("{} {} {}, expected {} numbers", name, is_or_are(name), to_string(list), count);
  }
  return list;
}

void expect_shape(const Call& call, std::string_view name, const Operand& operand, const Sizes& expected) {
  if (operand && operand.shape() != expected) {
    call.fail("{} {} {}, expected {}", name, is_or_are(name), describe(operand), to_string(expected));
  }
}

int checked_axis(const Call& call, std::string_view name, std::int64_t axis, int rank) {
  if (axis >= rank) call.fail("{} is {}, expected one below the rank, which is {}", name, axis, rank);
  return static_cast<int>(axis);
}

std::vector<int> checked_axes(const Call& call, std::string_view name, const Sizes& axes, int rank) {
  std::vector<int> checked;
  for (const std::int64_t axis : axes) {
    if (axis >= rank) {
      call.fail("{} {} {}, expected numbers below the rank, which is {}", name, is_or_are(name), to_string(axes), rank);
    }
    if (std::ranges::find(checked, static_cast<int>(axis)) != checked.end()) {
      call.fail("{} {} {}: axis {} is there twice", name, is_or_are(name), to_string(axes), axis);
    }
    checked.push_back(static_cast<int>(axis));
  }
  return checked;
}

std::string describe(const Operand& operand) { return to_string(operand.data_type(), operand.shape()); }

}  // namespace weft::webnn
