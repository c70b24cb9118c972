// Products of tensors as matrix products (weft/array.h).
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/utf8.h"
#include "ops/axes.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

void require_bytes(const Tensor& x, std::string_view function, std::string_view operand) {
  if (bits(x.dtype()) >= 8) return;
  throw TypeError("{}: {} is {}, expected elements of 8 bits or more", function, operand, to_string(x.type()));
}

void require_bytes_of_both(const Tensor& a, const Tensor& b, std::string_view function) {
  require_bytes(a, function, "a");
  require_bytes(b, function, "b");
}

// [..., m, k] · [..., k, n] of one type, as that type. The kernel's integers are i32, whose wrapped sums have the low
// bits of any narrower type's.
Tensor product(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::boolean) return matmul(cast(a, DType::i8), cast(b, DType::i8)) != 0;
  return cast(matmul(a, b), a.dtype());
}

std::int64_t product_of(const Shape& shape, std::span<const int> axes) {
  std::int64_t n = 1;
  for (const int a : axes) n *= shape[a];
  return n;
}

// ---- einsum

bool has(std::string_view axes, char c) { return axes.find(c) != std::string_view::npos; }

// A tensor with a letter for each axis. Axes of an ellipsis have the digits '0' to '7', counted from the last one.
struct Labelled {
  Tensor tensor;
  std::string axes;
};

class Subscripts {
 public:
  Subscripts(std::string_view text, std::span<const Tensor> operands) : text_(text) {
    std::string packed;
    std::ranges::copy_if(text, std::back_inserter(packed), [](char c) { return c != ' '; });
    const std::size_t arrow = packed.find("->");
    std::string_view inputs = std::string_view(packed).substr(0, arrow);
    std::size_t k = 0;
    for (;; ++k) {
      const std::size_t comma = inputs.find(',');
      if (k >= operands.size()) refuse("has more terms than there are operands");
      require_bytes(operands[k], "einsum", std::format("operand {}", k));
      operands_.push_back({operands[k], axes_of(inputs.substr(0, comma), operands[k].rank())});
      if (comma == std::string_view::npos) break;
      inputs.remove_prefix(comma + 1);
    }
    if (k + 1 != operands.size()) refuse("has fewer terms than there are operands");
    if (arrow == std::string::npos)
      implicit_result();
    else
      result_ = result_axes(std::string_view(packed).substr(arrow + 2));
  }

  std::vector<Labelled>& operands() { return operands_; }
  const std::string& result() const { return result_; }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw InvalidArgument("einsum: {} {}", in_quotes(text_), why);
  }

  // The first character of a text, of one byte or several; a byte that begins none as "\xff".
  static std::string character(std::string_view text) {
    if (find_invalid_utf8(text) == 0) return std::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    std::size_t end = 1;
    while (end < text.size() && is_continuation(text[end])) ++end;
    return std::string(text.substr(0, end));
  }

  // The letters of a term, with those of an ellipsis of `extra` axes.
  std::string expanded(std::string_view term, int extra) const {
    std::string axes;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') {
        if (term.substr(i, 3) != "..." || term.find('.', i + 3) != std::string_view::npos) refuse("has a stray point");
        for (int d = extra; d-- > 0;) axes += static_cast<char>('0' + d);
        i += 2;
      } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
        axes += term[i];
      } else {
        refuse(std::format("has the character '{}', which is no letter", character(term.substr(i))));
      }
    }
    return axes;
  }

  std::string axes_of(std::string_view term, int rank) {
    const bool open = term.find('.') != std::string_view::npos;
    const int letters = static_cast<int>(expanded(term, 0).size());
    if (open ? letters > rank : letters != rank) {
      throw ShapeError("einsum: {}: the term {} names {} axes of an operand of rank {}", in_quotes(text_),
                       in_quotes(term), letters, rank);
    }
    ellipsis_ = std::max(ellipsis_, rank - letters);
    return expanded(term, rank - letters);
  }

  std::string result_axes(std::string_view term) {
    if (ellipsis_ > 0 && !has(term, '.')) refuse("has axes of an ellipsis, which its result does not name");
    std::string axes = expanded(term, ellipsis_);
    for (const char c : axes) {
      if (std::ranges::count(axes, c) > 1) refuse(std::format("names '{}' twice in its result", c));
      const auto has = [c](const Labelled& o) { return o.axes.find(c) != std::string::npos; };
      if (std::ranges::none_of(operands_, has)) refuse(std::format("has '{}' only in its result", c));
    }
    return axes;
  }

  // Letters that occur once, in order, behind the axes of ellipses.
  void implicit_result() {
    std::string every;
    for (const Labelled& o : operands_) every += o.axes;
    for (int d = ellipsis_; d-- > 0;) result_ += static_cast<char>('0' + d);
    std::string once;
    std::ranges::copy_if(every, std::back_inserter(once),
                         [&](char c) { return c > '9' && std::ranges::count(every, c) == 1; });
    std::ranges::sort(once);
    result_ += once;
  }

  std::string text_;
  std::vector<Labelled> operands_;
  std::string result_;
  int ellipsis_ = 0;  // axes
};

Labelled ordered(const Labelled& x, const std::string& axes) {
  std::vector<int> order;
  for (const char c : axes) order.push_back(static_cast<int>(x.axes.find(c)));
  return {permute(x.tensor, order), axes};
}

// An axis that an operand names twice is its diagonal.
void take_diagonals(Labelled& x) {
  for (std::size_t i = 0; i < x.axes.size(); ++i) {
    for (std::size_t j = x.axes.find(x.axes[i], i + 1); j != std::string::npos; j = x.axes.find(x.axes[i], i + 1)) {
      const int a = static_cast<int>(i), b = static_cast<int>(j);
      if (x.tensor.shape()[a] != x.tensor.shape()[b]) {
        throw ShapeError("einsum: axis '{}' of one operand has sizes {} and {}", x.axes[i], x.tensor.shape()[a],
                         x.tensor.shape()[b]);
      }
      x.tensor = moveaxis(diagonal(moveaxis(x.tensor, {a, b}, {-2, -1})), -1, a);
      x.axes.erase(j, 1);
    }
  }
}

// Sums over axes that nothing else needs.
void sum_out(Labelled& x, const std::string& needed) {
  std::vector<int> axes;
  std::string kept;
  for (std::size_t i = 0; i < x.axes.size(); ++i) {
    if (has(needed, x.axes[i]))
      kept += x.axes[i];
    else
      axes.push_back(static_cast<int>(i));
  }
  if (axes.empty()) return;
  x = {reduce(x.tensor.dtype() == DType::boolean ? ReduceKind::any : ReduceKind::sum, x.tensor, axes), kept};
}

Labelled contract(Labelled a, Labelled b, const std::string& needed) {
  sum_out(a, b.axes + needed);
  sum_out(b, a.axes + needed);
  std::string batch, summed, rows, columns;
  for (const char c : a.axes) (!has(b.axes, c) ? rows : has(needed, c) ? batch : summed) += c;
  for (const char c : b.axes) {
    if (!has(a.axes, c)) columns += c;
  }
  // Sizes of 1 broadcast; a summed axis needs both in full.
  const auto size = [&](char c) {
    std::int64_t n = 1;
    for (const Labelled* x : {&a, &b}) {
      const std::size_t at = x->axes.find(c);
      if (at == std::string::npos) continue;
      const std::int64_t m = x->tensor.shape()[static_cast<int>(at)];
      if (n != 1 && m != 1 && m != n) throw ShapeError("einsum: axis '{}' has sizes {} and {}", c, n, m);
      if (m != 1) n = m;
    }
    return n;
  };
  const auto sizes = [&](const std::string& axes) {
    std::vector<std::int64_t> all;
    for (const char c : axes) all.push_back(size(c));
    return all;
  };
  const auto shape_of = [&](std::initializer_list<std::string> groups) {
    Shape shape;
    for (const std::string& axes : groups) {
      for (const std::int64_t n : sizes(axes)) shape.push_back(n);
    }
    return shape;
  };
  const auto count = [&](const std::string& axes) {
    std::int64_t n = 1;
    for (const std::int64_t m : sizes(axes)) n *= m;
    return n;
  };
  const std::string result = batch + rows + columns;
  if (summed.empty()) {
    // A product without a sum: axes that one of them lacks are broadcast.
    const auto spread = [&](const Labelled& x, const std::string& own, const std::string& missing, bool front) {
      Shape shape = ordered(x, batch + own).tensor.shape();
      for (std::size_t i = 0; i < missing.size(); ++i) {
        shape.insert(front ? static_cast<int>(batch.size()) : shape.rank(), 1);
      }
      return reshape(ordered(x, batch + own).tensor, shape);
    };
    const Tensor x = spread(a, rows, columns, false), y = spread(b, columns, rows, true);
    return {x.dtype() == DType::boolean ? x & y : x * y, result};
  }
  const auto as_matrices = [&](const Labelled& x, const std::string& first, const std::string& second) {
    const Tensor full = broadcast_to(ordered(x, batch + first + second).tensor, shape_of({batch, first, second}));
    return reshape(full, {count(batch), count(first), count(second)});
  };
  const Tensor c = product(as_matrices(a, rows, summed), as_matrices(b, summed, columns));
  return {reshape(c, shape_of({batch, rows, columns})), result};
}

// Which operands are contracted in what order: pairs of places among the operands and the results of the pairs before.
// Up to ten operands it is the order of the least number of products, found over all subsets; of more, greedily, the
// pair whose result takes least more than its operands. Orders with results of more axes than a tensor has are left
// out.
class ContractionOrder {
 public:
  using Steps = std::vector<std::array<std::size_t, 2>>;

  ContractionOrder(std::span<const Labelled> operands, std::string_view result) : result_(labels_of(result)) {
    for (const Labelled& o : operands) {
      labels_.push_back(labels_of(o.axes));
      for (std::size_t i = 0; i < o.axes.size(); ++i) {
        double& size = sizes_[label(o.axes[i])];
        size = std::max(size, static_cast<double>(o.tensor.shape()[static_cast<int>(i)]));
      }
    }
  }

  Steps steps() {
    constexpr std::size_t kMost = 10;
    if (labels_.size() > 2 && (labels_.size() > kMost || !best())) greedy();
    if (labels_.size() == 2) steps_.push_back({0, 1});
    return std::move(steps_);
  }

 private:
  using Labels = std::uint64_t;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  static std::size_t label(char c) {
    return static_cast<std::size_t>(c >= 'a' ? c - 'a' : c >= 'A' ? 26 + c - 'A' : 52 + c - '0');
  }
  static Labels labels_of(std::string_view axes) {
    Labels all = 0;
    for (const char c : axes) all |= Labels{1} << label(c);
    return all;
  }

  // The product of the sizes.
  double volume(Labels labels) const {
    double n = 1;
    for (; labels; labels &= labels - 1) n *= sizes_[static_cast<std::size_t>(std::countr_zero(labels))];
    return n;
  }
  static bool fits(Labels labels) { return std::popcount(labels) <= kMaxRank; }

  // False if there is none whose results all are tensors.
  bool best() {
    const std::size_t count = std::size_t{1} << labels_.size();
    std::vector<Labels> inside(count, 0), kept(count);
    for (std::size_t s = 1; s < count; ++s) {
      inside[s] = inside[s & (s - 1)] | labels_[static_cast<std::size_t>(std::countr_zero(s))];
    }
    for (std::size_t s = 0; s < count; ++s) kept[s] = inside[s] & (result_ | inside[count - 1 - s]);
    std::vector<double> cost(count, kNever);
    std::vector<std::size_t> part(count);
    for (std::size_t s = 1; s < count; ++s) {
      if (std::has_single_bit(s)) cost[s] = 0;
      if (std::has_single_bit(s) || !fits(kept[s])) continue;
      // Parts that hold the first operand, those with the most operands at the front first: from left to right if
      // nothing is better.
      const std::size_t first = s & (~s + 1), rest = s ^ first, last = std::bit_floor(s);
      const auto offer = [&](std::size_t t) {
        const double c = cost[t] + cost[s ^ t] + volume(kept[t] | kept[s ^ t]);
        if (c < cost[s]) {
          cost[s] = c;
          part[s] = t;
        }
      };
      offer(s ^ last);
      for (std::size_t t = (rest - 1) & rest;; t = (t - 1) & rest) {
        offer(first | t);
        if (t == 0) break;
      }
    }
    if (cost[count - 1] == kNever) return false;
    add(count - 1, part);
    return true;
  }

  // The steps that contract a subset, and the place of its result.
  std::size_t add(std::size_t s, const std::vector<std::size_t>& part) {
    if (std::has_single_bit(s)) return static_cast<std::size_t>(std::countr_zero(s));
    const std::size_t a = add(part[s], part), b = add(s ^ part[s], part);
    steps_.push_back({a, b});
    return labels_.size() + steps_.size() - 1;
  }

  void greedy() {
    struct Term {
      std::size_t place;
      Labels labels;
    };
    std::vector<Term> terms;
    for (std::size_t i = 0; i < labels_.size(); ++i) terms.push_back({i, labels_[i]});
    while (terms.size() > 1) {
      Labels once = 0, twice = 0, more = 0;  // labels of as many terms at least
      for (const Term& t : terms) {
        more |= twice & t.labels;
        twice |= once & t.labels;
        once |= t.labels;
      }
      // (Of very many terms only the first are compared.)
      const std::size_t n = std::min<std::size_t>(terms.size(), 64);
      std::array<std::size_t, 2> least{0, 1};
      double growth = kNever;
      const auto kept = [&](const Term& a, const Term& b) {
        return (a.labels | b.labels) & (result_ | more | (twice & ~(a.labels & b.labels)));
      };
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
          const Labels both = kept(terms[i], terms[j]);
          const double g = volume(both) - volume(terms[i].labels) - volume(terms[j].labels);
          if (!fits(both) || g >= growth) continue;
          growth = g;
          least = {i, j};
        }
      }
      const auto [i, j] = least;
      steps_.push_back({terms[i].place, terms[j].place});
      terms[i] = {labels_.size() + steps_.size() - 1, kept(terms[i], terms[j])};
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }

  Labels result_;
  std::vector<Labels> labels_;      // of the operands
  std::array<double, 60> sizes_{};  // of the labels
  Steps steps_;
};

// Over a's axes and b's, pair by pair.
Tensor dot(const Tensor& a, const Tensor& b, const Axes& a_axes, const Axes& b_axes) {
  const std::vector<int> of_a = normalized_axes(a_axes, a.rank(), "tensordot"),
                         of_b = normalized_axes(b_axes, b.rank(), "tensordot");
  if (of_a.size() != of_b.size()) {
    throw ShapeError("tensordot: {} axes of a and {} of b; expected as many", of_a.size(), of_b.size());
  }
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (a.shape()[of_a[i]] == b.shape()[of_b[i]]) continue;
    throw ShapeError("tensordot: axis {} of {} and axis {} of {} have different sizes", of_a[i], to_string(a.type()),
                     of_b[i], to_string(b.type()));
  }
  const DType type = result_type_for("tensordot", std::array<Tensor, 2>{a, b});
  Shape result;
  const auto free_axes = [&](const Tensor& x, const std::vector<int>& summed) {
    std::vector<int> axes;
    for (int i = 0; i < x.rank(); ++i) {
      if (std::ranges::count(summed, i)) continue;
      axes.push_back(i);
      result.push_back(x.shape()[i]);
    }
    return axes;
  };
  const std::vector<int> rows = free_axes(a, of_a), columns = free_axes(b, of_b);
  std::vector<int> order_a = rows, order_b = of_b;
  order_a.insert(order_a.end(), of_a.begin(), of_a.end());
  order_b.insert(order_b.end(), columns.begin(), columns.end());
  const std::int64_t m = product_of(a.shape(), rows), k = product_of(a.shape(), of_a),
                     n = product_of(b.shape(), columns);
  return reshape(
      product(reshape(permute(cast(a, type), order_a), {m, k}), reshape(permute(cast(b, type), order_b), {k, n})),
      result);
}

constexpr std::string_view kCommonType = "the common type";

constexpr Function kOuter = {{.name = "outer",
                              .operands = {{"a"}, {"b"}},
                              .results = {{"y", "[size of a, size of b]", kCommonType}},
                              .formula = "y[i, j] = a[i] · b[j]",
                              .summary = "each element of a times each of b, both flattened"},
                             [](const Tensor& a, const Tensor& b) -> Tensor {
                               require_bytes_of_both(a, b, "outer");
                               return reshape(a, {a.size(), 1}) * reshape(b, {1, b.size()});
                             }};

constexpr Function kVecdot = {{.name = "vecdot",
                               .operands = {{"a"}, {"b"}},
                               .results = {{"y", "the operands' common shape without the axis", kCommonType}},
                               .formula = "y = Σ_k conj(a[k]) · b[k]",
                               .summary = "the product of vectors along an axis"},
                              [](const Tensor& a, const Tensor& b, const AxisAttributes& o) {
                                require_bytes_of_both(a, b, "vecdot");
                                // The axis is counted in both from the end, before they broadcast.
                                int axis = o.axis;
                                const int least = std::min(a.rank(), b.rank());
                                if (axis >= 0 || axis < -least) {
                                  if (axis < 0 || a.rank() != b.rank() || axis >= least) {
                                    throw ShapeError("vecdot: axis {} of {} and {}; expected one from {} to -1", axis,
                                                     to_string(a.type()), to_string(b.type()), -least);
                                  }
                                  axis -= least;
                                }
                                if (a.shape()[axis] != b.shape()[axis]) {
                                  throw ShapeError("vecdot: axis {} of {} and {} has different sizes", axis,
                                                   to_string(a.type()), to_string(b.type()));
                                }
                                const DType type = result_type_for("vecdot", std::array<Tensor, 2>{a, b});
                                const Tensor x = cast(a, type), y = cast(b, type);
                                return reduce(ReduceKind::sum, (type == DType::c64 ? conj(x) : x) * y, {axis});
                              }};

struct TensordotAttributes {
  int axes = 2;
  void fields(AttributeVisitor& v) {
    v("axes", axes, 2, "how many last axes of a and first ones of b are summed over");
  }
};
constexpr Function kTensordot = {
    {.name = "tensordot",
     .operands = {{"a"}, {"b"}},
     .results = {{"y", "the axes that are left, a's in front", kCommonType}},
     .formula = "y[i…, j…] = Σ_k… a[i…, k…] · b[k…, j…]",
     .summary = "the sum of products over the last axes of one tensor and the first of another"},
    [](const Tensor& a, const Tensor& b, const TensordotAttributes& o) {
      require_bytes_of_both(a, b, "tensordot");
      if (o.axes < 0 || o.axes > a.rank() || o.axes > b.rank()) {
        throw ShapeError("tensordot: over {} axes of {} and {}", o.axes, to_string(a.type()), to_string(b.type()));
      }
      std::vector<int> last, first;
      for (int i = 0; i < o.axes; ++i) {
        last.push_back(a.rank() - o.axes + i);
        first.push_back(i);
      }
      return dot(a, b, last, first);
    }};

struct PairsAttributes {
  Axes a_axes = {}, b_axes = {};
  void fields(AttributeVisitor& v) {
    v("a_axes", a_axes, {}, "a's axes; without them all");
    v("b_axes", b_axes, {}, "b's axes, as many; without them all");
  }
};
constexpr Function kTensordotPairs = {{.name = "tensordot_pairs",
                                       .operands = {{"a"}, {"b"}},
                                       .results = {{"y", "the axes that are left, a's in front", kCommonType}},
                                       .formula = "y[i…, j…] = Σ_k… a[i…, k…] · b[k…, j…]",
                                       .summary = "the sum of products over axes of two tensors, pair by pair",
                                       .form_of = "tensordot"},
                                      [](const Tensor& a, const Tensor& b, const PairsAttributes& o) {
                                        require_bytes_of_both(a, b, "tensordot");
                                        return dot(a, b, o.a_axes, o.b_axes);
                                      }};

struct EinsumAttributes {
  std::string subscripts = {};
  void fields(AttributeVisitor& v) {
    v("subscripts", subscripts, "a letter for each axis of each operand, and behind -> those of the result");
  }
};
constexpr Function kEinsum = {{.name = "einsum",
                               .operands = {{.name = "operands", .arity = Arity::repeated}},
                               .results = {{"y", "as the subscripts say", kCommonType}},
                               .formula = "y = Σ of the products, over the letters that y lacks",
                               .summary = "the sum of products of elements whose axes have letters"},
                              [](std::span<const Tensor> operands, const EinsumAttributes& a) {
                                Subscripts parsed(a.subscripts, operands);
                                const DType type = result_type_for("einsum", operands);
                                for (Labelled& o : parsed.operands()) {
                                  o.tensor = cast(o.tensor, type);
                                  take_diagonals(o);
                                }
                                std::vector<Labelled> values = parsed.operands();
                                for (const auto& [first, second] : ContractionOrder(values, parsed.result()).steps()) {
                                  const Labelled x = std::exchange(values[first], {}),
                                                 y = std::exchange(values[second], {});
                                  std::string needed = parsed.result();
                                  for (const Labelled& other : values) needed += other.axes;
                                  values.push_back(contract(x, y, needed));
                                }
                                Labelled value = values.back();
                                sum_out(value, parsed.result());
                                return ordered(value, parsed.result()).tensor;
                              }};

}  // namespace

void add_contract_functions(FunctionRows& rows) { rows.add(kOuter, kVecdot, kTensordot, kTensordotPairs, kEinsum); }

// ---- The functions

Tensor outer(const Operand& a, const Operand& b) { return kOuter(a, b); }
Tensor vecdot(const Operand& a, const Operand& b, int axis) { return kVecdot(a, b, {axis}); }
Tensor tensordot(const Operand& a, const Operand& b, int axes) { return kTensordot(a, b, {axes}); }
Tensor tensordot(const Operand& a, const Operand& b, const Axes& a_axes, const Axes& b_axes) {
  return kTensordotPairs(a, b, {a_axes, b_axes});
}
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands) {
  return kEinsum(operands, {std::string(subscripts)});
}
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands) {
  return einsum(subscripts, std::span(operands.begin(), operands.size()));
}

}  // namespace weft
