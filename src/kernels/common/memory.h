// What every launcher asks of its views' memory before it does anything.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// One view, one that may be missing, or several; with the name that messages call it by, of several with a number behind
// it ("part 2"). `given`: as messages show it, where that is the caller's view under another layout.
class Operands {
 public:
  Operands(const View& view) : views_(&view, 1) {}                                             // NOLINT: implicit
  Operands(const std::optional<View>& view) : views_(view ? &*view : nullptr, view ? 1 : 0) {}  // NOLINT
  Operands(std::span<const View> views) : views_(views), numbered_(true) {}                    // NOLINT
  Operands(const std::vector<View>& views) : Operands(std::span(views)) {}                     // NOLINT
  Operands(std::string_view name, const View& view) : views_(&view, 1), name_(name) {}
  Operands(std::string_view name, const std::optional<View>& view) : Operands(view) { name_ = name; }
  Operands(std::string_view name, const std::optional<View>& view, const std::optional<View>& given) : Operands(view) {
    name_ = name;
    given_ = given ? &*given : nullptr;
  }
  Operands(std::string_view name, std::span<const View> views) : Operands(views) { name_ = name; }
  // Several whose names are asked for when there is something to say of them.
  using Naming = std::string (*)(std::string_view kernel, std::size_t k, std::size_t count);
  Operands(Naming naming, std::span<const View> views) : Operands(views) { naming_ = naming; }
  const View* begin() const { return views_.data(); }
  const View* end() const { return views_.data() + views_.size(); }
  // "x f32 [2, 3]", of one of them; `otherwise`: the name of what has none.
  std::string text(std::string_view kernel, const View& view, std::string_view otherwise) const;

 private:
  std::span<const View> views_;
  std::string_view name_;
  bool numbered_ = false;
  Naming naming_ = nullptr;
  const View* given_ = nullptr;
};

// Whether an output may be an input's very same view, each element being written by whoever read it.
enum class Sharing : std::uint8_t { same_view, none };

// Throws InvalidArgument unless every view lies in memory of the stream's kind, and outputs overlap neither themselves
// nor each other nor an input (but for `sharing`). A layout too intricate to tell counts as well made.
void check_memory(Stream& stream, std::string_view kernel, std::initializer_list<Operands> inputs,
                  std::initializer_list<Operands> outputs, Sharing sharing = Sharing::same_view);

// Whether the aligned group of so many elements around the view's last is whole in the buffer, for its part that is not
// the view's too.
bool last_group_is_whole(const View& view, std::int64_t count = 4);

// Whether some element of one view shares a byte with one of the other; false where that is too intricate to tell.
bool overlap(const View& a, const View& b);
// Whether two indices of a view lead to one element.
bool overlaps_itself(const View& view);

}  // namespace weft::kernels
