// The ends of file names, which say what a file holds.
#pragma once

#include <string_view>

#include "core/ascii.h"

namespace weft {

// Whether a name ends so; the case of the name's letters does not matter. `suffix` is in small letters.
inline bool has_suffix(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() && lower(name.substr(name.size() - suffix.size())) == suffix;
}

}  // namespace weft
