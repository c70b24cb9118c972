#include "weft/tensor_tree.h"

#include "core/format.h"
#include "weft/error.h"

namespace weft::detail {

void require_tensors(std::string_view function, std::size_t given, std::size_t expected) {
  if (given == expected) return;
  throw InvalidArgument("{}: {} tensors, expected {}, as many as the tree has", function, given, expected);
}

}  // namespace weft::detail
