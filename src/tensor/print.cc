#include "weft/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdio>
#include <format>
#include <functional>
#include <ostream>
#include <vector>

#include "compiler/device_data.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "tensor/convert.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/small_float.h"

namespace weft {
namespace {

// ---- Digits

// The shortest decimal digits, in fixed or scientific notation, that `same` takes for the number, and at most
// `precision` of them behind the point.
std::string shortest(double v, bool scientific, int precision, const std::function<bool(double)>& same) {
  std::string text;
  for (int digits = 0; digits <= precision; ++digits) {
    text = scientific ? std::format("{:.{}e}", v, digits) : std::format("{:.{}f}", v, digits);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (same(back)) break;
  }
  // Zeros at the end say nothing.
  const auto exponent = text.find('e');
  std::string mantissa = text.substr(0, exponent);
  if (mantissa.find('.') == std::string::npos) mantissa += '.';
  while (mantissa.back() == '0') mantissa.pop_back();
  return exponent == std::string::npos ? mantissa : mantissa + text.substr(exponent);
}

// Whether a decimal number becomes the same element of the type.
std::function<bool(double)> reads_as(double v, DType type) {
  switch (type) {
    case DType::f16:
      return [v](double d) { return float16(static_cast<float>(d)).bits == float16(static_cast<float>(v)).bits; };
    case DType::bf16:
      return [v](double d) { return bfloat16(static_cast<float>(d)).bits == bfloat16(static_cast<float>(v)).bits; };
    case DType::f64:
      return [v](double d) { return d == v; };
    default:
      return [v](double d) { return static_cast<float>(d) == static_cast<float>(v); };
  }
}

std::string special(double v) { return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"; }

// All numbers in one notation, aligned at the point.
std::vector<std::string> aligned(const std::vector<double>& values, DType type, int precision) {
  double most = 0, least = INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v) || v == 0) continue;
    most = std::max(most, std::abs(v));
    least = std::min(least, std::abs(v));
  }
  const bool scientific = most > 0 && (most >= 1e8 || least < 1e-4 || most / least > 1000);
  std::vector<std::string> texts;
  std::size_t before = 0, after = 0;
  const auto point = [](const std::string& t) { return t.find('.'); };
  for (const double v : values) {
    texts.push_back(std::isfinite(v) ? shortest(v, scientific, precision, reads_as(v, type)) : special(v));
    if (!std::isfinite(v)) continue;
    const std::string& t = texts.back();
    before = std::max(before, point(t));
    after = std::max(after, std::min(t.find('e'), t.size()) - point(t) - 1);
  }
  std::size_t width = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string& t = texts[i];
    if (std::isfinite(values[i])) {
      const std::size_t end = std::min(t.find('e'), t.size());
      t.insert(end, after - (end - point(t) - 1), scientific ? '0' : ' ');
      t.insert(0, before - point(t), ' ');
    }
    width = std::max(width, t.size());
  }
  for (std::string& t : texts) t.insert(0, width - t.size(), ' ');
  return texts;
}

std::vector<std::string> right_aligned(std::vector<std::string> texts) {
  std::size_t width = 0;
  for (const std::string& t : texts) width = std::max(width, t.size());
  for (std::string& t : texts) t.insert(0, width - t.size(), ' ');
  return texts;
}

std::vector<std::string> texts_of(const TensorType& type, std::span<const std::byte> bytes, int precision) {
  const DTypeKind kind = info(type.dtype).kind;
  if (is_floating(type.dtype)) return aligned(converted<double>(type, bytes), type.dtype, precision);
  std::vector<std::string> texts;
  if (kind == DTypeKind::boolean) {
    for (const std::uint8_t v : converted<std::uint8_t>(type, bytes)) texts.emplace_back(v ? "True" : "False");
  } else if (kind == DTypeKind::complex) {
    std::vector<double> re, im;
    for (const std::complex<float>& v : converted<std::complex<float>>(type, bytes)) {
      re.push_back(v.real());
      im.push_back(v.imag());
    }
    const std::vector<std::string> real = aligned(re, DType::f32, precision);
    for (std::size_t i = 0; i < im.size(); ++i) {
      const double size = std::abs(im[i]);
      const std::string part =
          std::isfinite(im[i]) ? shortest(size, false, precision, reads_as(size, DType::f32)) : special(size);
      texts.push_back(real[i] + (std::signbit(im[i]) ? "-" : "+") + part + "j");
    }
  } else if (type.dtype == DType::u64) {
    for (const std::uint64_t v : converted<std::uint64_t>(type, bytes)) texts.push_back(std::to_string(v));
  } else {
    for (const std::int64_t v : converted<std::int64_t>(type, bytes)) texts.push_back(std::to_string(v));
  }
  return right_aligned(std::move(texts));
}

// ---- Brackets

// The ends of all axes from `d` on that are longer than both ends. Everything is sliced before anything is joined,
// because what is joined is copied.
Tensor ends_of(const Tensor& x, std::int64_t edge, int d = 0) {
  while (d < x.rank() && x.shape()[d] <= 2 * edge) ++d;
  if (d == x.rank()) return x;
  const std::int64_t n = x.shape()[d];
  const Tensor ends[] = {ends_of(slice(x, d, 0, edge), edge, d + 1), ends_of(slice(x, d, n - edge, n), edge, d + 1)};
  return concat(ends, d);
}

// The same ends of a view as elements of what is stored, for views of which no strides say where these are: of a
// slice of one the compiler would copy all of it.
Tensor ends_of_view(const Tensor& x, std::int64_t edge) {
  Shape shown = x.shape();
  for (std::int64_t& n : shown) n = std::min(n, 2 * edge);
  // Places among the elements of x, and then among those of what it is a view of.
  std::vector<std::int64_t> places;
  Dims at = Dims::filled(x.rank(), 0);
  for (std::int64_t i = 0; i < element_count(shown); ++i) {
    std::int64_t place = 0;
    for (int d = 0; d < x.rank(); ++d) {
      const std::int64_t n = x.shape()[d];
      place = place * n + (at[d] < shown[d] - edge || shown[d] == n ? at[d] : n - shown[d] + at[d]);
    }
    places.push_back(place);
    for (int d = x.rank() - 1; d >= 0 && ++at[d] == shown[d]; --d) at[d] = 0;
  }
  const Tensor& stored = stored_by(x);
  for (const Tensor* view = &x; !same(*view, stored); view = &input_of(*view)) {
    const auto shown = view->node()->op().view_layout(Layout::dense(input_of(*view).shape()));
    if (!shown) throw InternalError("print: {} is a view of no place", to_string(view->type()));
    for (std::int64_t& place : places) {
      std::int64_t rest = place;
      place = shown->offset;
      for (int d = view->rank() - 1; d >= 0; --d) {
        const std::int64_t n = view->shape()[d];
        place += rest % n * shown->layout.strides[d];
        rest /= n;
      }
    }
  }
  return reshape(gather(reshape(stored, {stored.size()}), to(tensor(places), stored.device()), 0), shown);
}

class Layouter {
 public:
  Layouter(const Shape& whole, const Shape& shown, std::vector<std::string> texts, const PrintOptions& options)
      : whole_(whole), shown_(shown), texts_(std::move(texts)), options_(options) {}

  std::string run() {
    if (whole_.rank() == 0) return texts_[0];
    axis(0);
    return std::move(out_);
  }

 private:
  // True between the two ends of an axis of which the middle is left out.
  bool gap_before(int d, std::int64_t i) const { return shown_[d] < whole_[d] && i == shown_[d] / 2; }

  void axis(int d) {
    out_ += '[';
    if (d + 1 == whole_.rank()) {
      row(d);
    } else {
      for (std::int64_t i = 0; i < shown_[d]; ++i) {
        const std::string turn = std::string(static_cast<std::size_t>(whole_.rank() - 1 - d), '\n') +
                                 std::string(static_cast<std::size_t>(d) + 1, ' ');
        if (i > 0) out_ += options_.separator + turn;
        if (gap_before(d, i)) out_ += "..." + options_.separator + turn;
        axis(d + 1);
      }
    }
    out_ += ']';
  }

  void row(int d) {
    const std::string indent(static_cast<std::size_t>(d) + 1, ' ');
    // Brackets that may follow take place in each line.
    const std::size_t width = static_cast<std::size_t>(std::max(options_.width - (d + 1), 1));
    std::size_t column = indent.size();
    for (std::int64_t i = 0; i < shown_[d]; ++i) {
      if (gap_before(d, i)) word("..." + options_.separator, i, width, indent, column);
      const std::string& text = texts_[next_++];
      word(i + 1 < shown_[d] ? text + options_.separator : text, i, width, indent, column);
    }
  }

  void word(const std::string& text, std::int64_t i, std::size_t width, const std::string& indent,
            std::size_t& column) {
    const std::size_t gap = column > indent.size() ? 1 : 0;
    if (i > 0 && gap && column + gap + text.size() > width) {
      out_.resize(out_.find_last_not_of(' ') + 1);
      out_ += '\n' + indent;
      column = indent.size();
    } else if (gap) {
      out_ += ' ';
      ++column;
    }
    out_ += text;
    column += text.size();
  }

  const Shape &whole_, &shown_;
  std::vector<std::string> texts_;
  const PrintOptions& options_;
  std::string out_;
  std::size_t next_ = 0;
};

}  // namespace

namespace {

// What is read of a tensor, and what its bytes become.
struct Shown {
  Tensor part;
  std::function<std::string(std::span<const std::byte>)> text;
};

Shown shown(const Tensor& x, const PrintOptions& options) {
  if (options.edge < 1 || options.precision < 0 || options.width < 1) {
    throw InvalidArgument("print: edge {}, precision {} and width {}; expected 1, 0 and 1 or more", options.edge,
                          options.precision, options.width);
  }
  // (Of a view only what it shows is computed, and of that only what is printed is copied.)
  eval(x);
  const bool strided = layout_in_stored(x).has_value();
  const Tensor part = x.size() <= options.threshold ? x
                      : strided                     ? ends_of(x, options.edge)
                                                    : ends_of_view(x, options.edge);
  std::string suffix;
  if (options.suffix && x.dtype() != DType::f32) suffix += std::format(" {}", name(x.dtype()));
  if (options.suffix && x.device() != default_device()) suffix += " on " + x.device().name();
  return {part, [whole = x.shape(), type = part.type(), suffix, options](std::span<const std::byte> bytes) {
            if (element_count(whole) == 0 && whole.rank() > 1) return std::format("[] {}{}", to_string(whole), suffix);
            return Layouter(whole, type.shape, texts_of(type, bytes, options.precision), options).run() + suffix;
          }};
}

}  // namespace

std::string to_string(const Tensor& x, const PrintOptions& options) {
  if (!x.defined()) return "undefined";
  return in_host_memory("print", [&] {
    const Shown s = shown(x, options);
    std::vector<std::byte> bytes = host_bytes("print", s.part.type());
    s.part.read_bytes(bytes);
    return s.text(bytes);
  });
}

Future<std::string> async_to_string(const Tensor& x, const PrintOptions& options) {
  if (!x.defined()) return Future<std::string>({}, [] { return std::string("undefined"); });
  const Shown s = shown(x, options);
  return s.part.async_read_bytes().map([text = s.text](const std::vector<std::byte>& bytes) {
    return in_host_memory("print", [&] { return text(bytes); });
  });
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

void print(const Tensor& x, const PrintOptions& options) { std::printf("%s\n", to_string(x, options).c_str()); }

}  // namespace weft
