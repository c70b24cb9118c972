#include "kernels/common/memory.h"

#include <webgpu/webgpu_cpp.h>

#include <algorithm>

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// The values step · i with i in first…last.
struct Term {
  std::int64_t step, first, last;
};

// Says whether a sum of one value of each term can lie in low…high. Depth first, largest steps first: the range of the
// remaining terms leaves few values of each term to try if steps are nested, as those of tensors are.
class Sums {
 public:
  bool reach(std::span<Term> terms, std::int64_t low, std::int64_t high) {
    std::ranges::sort(terms, std::greater(), [](const Term& t) { return std::abs(t.step); });
    return search(terms, low, high);
  }

 private:
  bool search(std::span<const Term> terms, std::int64_t low, std::int64_t high) {
    if (terms.empty()) return low <= 0 && 0 <= high;
    if (++steps_ > kMaxSteps) return false;
    std::int64_t least = 0, most = 0;
    for (const Term& t : terms.subspan(1)) {
      least += std::min(t.step * t.first, t.step * t.last);
      most += std::max(t.step * t.first, t.step * t.last);
    }
    Term t = terms[0];
    if (t.step < 0) t = {-t.step, -t.last, -t.first};
    if (t.step == 0) return search(terms.subspan(1), low, high);
    const std::int64_t first = std::max(t.first, ceil_div(low - most, t.step));
    const std::int64_t last = std::min(t.last, floor_div(high - least, t.step));
    for (std::int64_t i = first; i <= last; ++i) {
      if (search(terms.subspan(1), low - i * t.step, high - i * t.step)) return true;
    }
    return false;
  }
  static std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }
  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

  static constexpr int kMaxSteps = 4096;
  int steps_ = 0;
};

// A view's first and last bit.
std::array<std::int64_t, 2> bit_range(const View& v) {
  const auto [low, high] = v.layout.offset_range();
  const auto start = static_cast<std::int64_t>(v.offset) * 8;
  return {start + low * bits(v.dtype), start + (high + 1) * bits(v.dtype) - 1};
}

bool same_view(const View& a, const View& b) {
  if (a.offset != b.offset || bits(a.dtype) != bits(b.dtype) || a.shape() != b.shape()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.shape()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  }
  return true;
}

}  // namespace

Buffer placeholder_memory() { return Buffer(wgpu::Buffer(), std::uint64_t{1} << 62, {}); }

std::int64_t first_element(const View& view) { return static_cast<std::int64_t>(view.offset) * 8 / bits(view.dtype); }

bool overlaps_itself(const View& view) {
  if (view.count() < 2 || view.is_dense()) return false;
  std::vector<Term> steps;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.shape()[d] > 1) steps.push_back({std::abs(view.strides()[d]), 0, view.shape()[d] - 1});
  }
  std::ranges::sort(steps, std::greater(), &Term::step);
  if (steps.back().step == 0) return true;
  std::int64_t reach = 0;
  bool nested = true;
  for (std::size_t k = steps.size(); k-- > 0;) {
    nested &= steps[k].step > reach;
    reach += steps[k].step * steps[k].last;
  }
  if (nested) return false;
  // The difference of two indices: 0 along the first axes, positive along the next one, anything along the rest.
  Sums sums;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    std::vector<Term> terms(steps.begin() + static_cast<std::ptrdiff_t>(k), steps.end());
    terms[0].first = 1;
    for (std::size_t i = 1; i < terms.size(); ++i) terms[i].first = -terms[i].last;
    if (sums.reach(terms, 0, 0)) return true;
  }
  return false;
}

bool overlap(const View& a, const View& b) {
  if (!(a.buffer == b.buffer) || a.count() == 0 || b.count() == 0) return false;
  const auto x = bit_range(a), y = bit_range(b);
  if (x[0] > y[1] || y[0] > x[1]) return false;
  if (a.is_dense() && b.is_dense()) return true;
  std::vector<Term> terms;
  for (int d = 0; d < a.rank(); ++d) terms.push_back({a.strides()[d] * bits(a.dtype), 0, a.shape()[d] - 1});
  for (int d = 0; d < b.rank(); ++d) terms.push_back({-b.strides()[d] * bits(b.dtype), 0, b.shape()[d] - 1});
  // Elements overlap if their first bits are less than an element apart.
  const std::int64_t apart = (static_cast<std::int64_t>(a.offset) - static_cast<std::int64_t>(b.offset)) * 8;
  return Sums().reach(terms, -apart - bits(a.dtype) + 1, -apart + bits(b.dtype) - 1);
}

std::string NamedViews::text(std::string_view kernel, const View& view, std::string_view otherwise) const {
  const auto k = static_cast<std::size_t>(&view - views_.data());
  const std::string name = naming_         ? naming_(kernel, k, views_.size())
                           : name_.empty() ? std::string(otherwise)
                           : numbered_     ? std::format("{} {}", name_, k)
                                           : std::string(name_);
  return std::format("{} {}", name, to_string(given_ ? *given_ : view));
}

void check_memory(Stream& stream, std::string_view kernel, std::initializer_list<NamedViews> inputs,
                  std::initializer_list<NamedViews> outputs, Sharing sharing) {
  const bool gpu = stream.gpu() != nullptr;
  const auto check_kind = [&](const NamedViews& operands, std::string_view what, const View& v) {
    if (v.count() == 0) return;
    const bool here =
        v.buffer.is_number() || (gpu ? v.buffer.on_gpu() || v.buffer.is_placeholder() : v.buffer.on_host());
    if (!here) {
      throw InvalidArgument("{}: {} {}", kernel, operands.text(kernel, v, what),
                            !v.buffer                   ? "has no buffer"
                            : v.buffer.is_placeholder() ? "has no memory yet: only a recording takes placeholders"
                            : gpu                       ? "lies in host memory, the call runs on a GPU"
                                                        : "lies on a GPU, the call runs on the CPU");
    }
    // Shaders can access whole words only.
    if (gpu && static_cast<std::uint64_t>(bit_range(v)[1] / 8) >= v.buffer.capacity() / 4 * 4) {
      throw InvalidArgument(
          "{}: {} ends in the last bytes of a GPU buffer of {}, which kernels cannot see, since its "
          "size is no multiple of four",
          kernel, operands.text(kernel, v, what), v.buffer.capacity());
    }
    // The view's fields may have been changed after its construction.
    (void)View(v.buffer, v.offset, v.dtype, v.shape(), v.strides());
  };
  struct Written {
    const NamedViews* operands;
    std::string_view what;
    const View* view;
  };
  std::vector<Written> written;
  const auto check_output = [&](const NamedViews& operands, std::string_view what, const View& v, Sharing sharing) {
    check_kind(operands, what, v);
    if (overlaps_itself(v)) throw InvalidArgument("{}: {} overlaps itself", kernel, operands.text(kernel, v, what));
    for (const NamedViews& in : inputs) {
      for (const View& x : in) {
        if (!(x.buffer == v.buffer) || (sharing == Sharing::same_view && same_view(x, v)) || !overlap(x, v)) continue;
        throw InvalidArgument("{}: {} shares memory with {}, which it would overwrite while it is read{}", kernel,
                              operands.text(kernel, v, what), in.text(kernel, x, "input"),
                              sharing == Sharing::same_view ? "; only the very same view may be both" : "");
      }
    }
    for (const Written& other : written) {
      if (overlap(*other.view, v)) {
        throw InvalidArgument("{}: {} and {} share memory", kernel,
                              other.operands->text(kernel, *other.view, other.what), operands.text(kernel, v, what));
      }
    }
    written.push_back({&operands, what, &v});
  };
  for (const NamedViews& in : inputs) {
    for (const View& v : in) check_kind(in, "input", v);
  }
  for (const NamedViews& out : outputs) {
    for (const View& v : out) check_output(out, "output", v, sharing);
  }
}

bool last_group_is_whole(const View& view, std::int64_t count) {
  if (view.buffer.is_number()) return false;
  const int b = bits(view.dtype);
  const std::int64_t last = static_cast<std::int64_t>(view.offset) * 8 / b + view.layout.offset_range()[1];
  return static_cast<std::uint64_t>((last / count + 1) * count * b / 8) <= view.buffer.capacity();
}

}  // namespace weft::kernels
