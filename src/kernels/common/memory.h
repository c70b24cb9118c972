// Checks of views' memory that every launcher makes first.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// One view, an optional one, or several, with their name in messages; several are numbered ("part 2"). `given`: what
// messages show instead, if the view is the caller's one under another layout.
class NamedViews {
 public:
  NamedViews(const View& view) : views_(&view, 1) {}                                              // NOLINT: implicit
  NamedViews(const std::optional<View>& view) : views_(view ? &*view : nullptr, view ? 1 : 0) {}  // NOLINT
  NamedViews(std::span<const View> views) : views_(views), numbered_(true) {}                     // NOLINT
  NamedViews(const std::vector<View>& views) : NamedViews(std::span(views)) {}                    // NOLINT
  NamedViews(std::string_view name, const View& view) : views_(&view, 1), name_(name) {}
  NamedViews(std::string_view name, const std::optional<View>& view) : NamedViews(view) { name_ = name; }
  NamedViews(std::string_view name, const std::optional<View>& view, const std::optional<View>& given)
      : NamedViews(view) {
    name_ = name;
    given_ = given ? &*given : nullptr;
  }
  NamedViews(std::string_view name, std::span<const View> views) : NamedViews(views) { name_ = name; }
  // Several views whose names are computed only for a message.
  using Naming = std::string (*)(std::string_view kernel, std::size_t k, std::size_t count);
  NamedViews(Naming naming, std::span<const View> views) : NamedViews(views) { naming_ = naming; }
  const View* begin() const { return views_.data(); }
  const View* end() const { return views_.data() + views_.size(); }
  // "x f32 [2, 3]", for one of the views; `otherwise`: its name if it has none.
  std::string text(std::string_view kernel, const View& view, std::string_view otherwise) const;

 private:
  std::span<const View> views_;
  std::string_view name_;
  bool numbered_ = false;
  Naming naming_ = nullptr;
  const View* given_ = nullptr;
};

// Whether an output may be the very same view as an input, because each element is written by the thread that read it.
enum class Sharing : std::uint8_t { same_view, none };

// Throws InvalidArgument unless every view is in memory of the stream's kind, and outputs overlap neither themselves
// nor each other nor an input (except as `sharing` allows). Layouts too intricate to decide are accepted.
void check_memory(Stream& stream, std::string_view kernel, std::initializer_list<NamedViews> inputs,
                  std::initializer_list<NamedViews> outputs, Sharing sharing = Sharing::same_view);

// Memory of views of which only the layout counts, and where they begin: nothing reads or writes it.
Buffer placeholder_memory();
// The first element of a view of it, counted from its start.
std::int64_t first_element(const View& view);

// True if the aligned group of `count` elements that contains the view's last element is entirely within the buffer.
bool last_group_is_whole(const View& view, std::int64_t count = 4);

// True if elements of the two views share a byte; false if that is too intricate to decide.
bool overlap(const View& a, const View& b);
// True if two indices of a view refer to the same element.
bool overlaps_itself(const View& view);

}  // namespace weft::kernels
