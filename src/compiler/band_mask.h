// Constant masks that hide what a window over the keys hides, and nothing else: attention need not read them then, nor
// the keys outside of the window.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace weft::compiler {

// As in kernels::AttentionOptions.
struct Band {
  std::int64_t left = -1, right = -1;
  bool top_left = false;
  bool every_query_sees = true;  // at least one key
};

// True of what added to a score hides its key: -inf, or so little that no score of any use makes up for it.
bool hides(double added);

// Looks at every element of a mask, of each constant once.
class BandMasks {
 public:
  // Of a mask over scores [queries, keys] (its last two axes; those before them must all say the same), boolean or
  // added: nothing unless it is made of constants alone and is exactly a window.
  std::optional<Band> find(Value mask, std::int64_t queries, std::int64_t keys);

 private:
  std::map<std::string, std::optional<Band>> known_;
};

}  // namespace weft::compiler
