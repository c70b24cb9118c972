// Constant masks that are exactly a window over the keys. Attention with that window need not read the mask, nor the
// keys outside of it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/passes/fold_constants.h"
#include "graph/graph.h"

namespace weft::compiler {

// True if adding this to a score hides its key: -inf, or a number so low that no realistic score makes up for it.
bool hides(double added);

// Examines every element of a mask, once for each constant. Masks must live as long.
class WindowMasks {
 public:
  // The window of a mask over scores [queries, keys] (its last two axes; all leading axes must have the same mask),
  // boolean or added. Nothing unless the mask consists of constants alone and is exactly a window.
  std::optional<MaskWindow> find(const Tensor& mask, std::int64_t queries, std::int64_t keys);

 private:
  Constants constants_;
  std::map<std::string, std::optional<MaskWindow>> known_;
};

}  // namespace weft::compiler
