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

void expect_shape(const Call& call, std::string_view operand, const Sizes& expected) {
  if (call.has(operand) && call.shape(operand) != expected) {
    call.fail("{} {} {}, expected {}", operand, is_or_are(operand), describe(call, operand), to_string(expected));
  }
}

std::string describe(const Call& call, std::string_view operand) {
  return to_string(call.data_type(operand), call.shape(operand));
}

}  // namespace weft::webnn
