// Indexing as views, lookups and updates (weft/indexing.h).
#include "weft/indexing.h"

#include <algorithm>

#include "core/error_context.h"
#include "core/format.h"
#include "ops/index.h"
#include "ops/promotion.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

// What scatter() makes of an element and an update.
Tensor combined(ScatterKind op, const Tensor& old, const Tensor& v) {
  switch (op) {
    case ScatterKind::assign:
      return v;
    case ScatterKind::add:
      return old + v;
    case ScatterKind::mul:
      return old * v;
    case ScatterKind::min:
      return minimum(old, v);
    case ScatterKind::max:
      return maximum(old, v);
  }
  throw InternalError("no such scatter");
}

// One axis of what slices, integers and new axes leave of x.
struct Axis {
  enum Kind : std::uint8_t { plain, integer, tensor, added } kind = plain;
  int of_x = -1;                                // axis of x; -1: a new one
  std::int64_t begin = 0, count = 0, step = 1;  // elements of x's axis
  Tensor indices;                               // of kind tensor
  // What was asked for, as far as it counts from the end, so that it is the same at other shapes.
  std::optional<SliceAttributes> rule = {};
};

// As NumPy: an axis of a mask has the size of the one that it indexes, or none, so that it chooses nothing.
bool mask_fits(std::int64_t of_mask, std::int64_t of_x) { return of_mask == of_x || of_mask == 0; }

class Selection {
 public:
  Selection(std::string_view function, const Tensor& x, const Indices& at) : function_(function), x_(x) {
    if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", function);
    int named = 0, ellipses = 0;
    for (const Index& i : at.values()) {
      named += axes_of(i);
      ellipses += std::holds_alternative<Ellipsis>(i.value());
    }
    if (ellipses > 1) throw IndexError("{}: an ellipsis is given {} times", function, ellipses);
    if (named > x.rank()) throw IndexError("{}: {} indices for {}", function, named, to_string(x.type()));
    const int whole = x.rank() - named;
    for (const Index& i : at.values()) {
      if (std::holds_alternative<Ellipsis>(i.value())) {
        // It separates index tensors also where it stands for no axis.
        ellipsis_ = axes_.size();
        add_whole(whole);
      } else {
        add(i);
      }
    }
    if (ellipses == 0) add_whole(whole);
    join_indices();
    const auto left =
        static_cast<int>(std::ranges::count(axes_, false, [](const Axis& a) { return a.kind == Axis::integer; }));
    const int chosen = has_tensors() ? index_rank() - static_cast<int>(indexed_.size()) : 0;
    if (const int rank = left + std::max(chosen, 0); rank > kMaxRank) {
      throw IndexError("{}: a result of rank {}; at most {} is possible", function, rank, kMaxRank);
    }
  }

  bool has_tensors() const { return !indexed_.empty(); }

  Tensor get() const {
    const Tensor part = sliced();
    if (!has_tensors()) return part;
    if (indexed_.size() == 1) return placed(gather(part, axes_[indexed_[0]].indices, place_in_part(0)));
    return placed(gather_nd(permute(part, indexed_first()), tuples()));
  }

  Tensor update(ScatterKind op, const TensorLike& value) const {
    Tensor v = as_tensor(function_, value, x_.dtype());
    const Tensor part = sliced();
    Tensor changed;
    if (!has_tensors()) {
      v = broadcast_value(v, part.shape());
      changed = combined(op, part, v);
    } else {
      const Shape shape = result_shape(part);
      v = unplaced(broadcast_value(v, shape));
      if (indexed_.size() == 1) {
        changed = scatter(op, part, axes_[indexed_[0]].indices, v, place_in_part(0));
      } else {
        const std::vector<int> order = indexed_first();
        std::vector<int> back(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
        changed = permute(scatter_nd(op, permute(part, order), tuples(), v), back);
      }
    }
    // With integers' axes, and without new ones.
    Shape full;
    for (const Axis& a : axes_) {
      if (a.of_x >= 0) full.push_back(a.count);
    }
    return put(x_, reshape(changed, full));
  }

 private:
  static int axes_of(const Index& i) {
    if (const auto* t = std::get_if<Tensor>(&i.value())) {
      return t->defined() && t->dtype() == DType::boolean ? t->rank() : 1;
    }
    return std::holds_alternative<Ellipsis>(i.value()) || std::holds_alternative<NewAxis>(i.value()) ? 0 : 1;
  }

  std::int64_t size() const { return x_.shape()[next_]; }

  void add_whole(int count) {
    for (int i = 0; i < count; ++i) add(Index(Slice{}));
  }

  void add(const Index& index) {
    if (const auto* i = std::get_if<std::int64_t>(&index.value())) {
      const std::int64_t n = size();
      if (*i < -n || *i >= n) {
        throw IndexError("{}: index {} is outside of axis {} of {}", function_, *i, next_, to_string(x_.type()));
      }
      Axis axis{Axis::integer, next_, *i < 0 ? *i + n : *i, 1, 1, {}};
      if (*i < 0) axis.rule = {next_, *i, *i + 1, 1, true, true};
      axes_.push_back(std::move(axis));
      ++next_;
    } else if (const auto* s = std::get_if<Slice>(&index.value())) {
      add_slice(*s);
    } else if (std::holds_alternative<NewAxis>(index.value())) {
      axes_.push_back({Axis::added, -1, 0, 1, 1, {}});
    } else {
      add_tensor(std::get<Tensor>(index.value()));
    }
  }

  void add_slice(const Slice& s) {
    const std::int64_t n = size();
    if (s.step == 0) throw IndexError("{}: a slice with step 0", function_);
    const std::int64_t low = s.step > 0 ? 0 : -1, high = s.step > 0 ? n : n - 1;
    const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? std::max(i, -n - 1) + n : i, low, high); };
    const std::int64_t begin = s.begin ? place(*s.begin) : (s.step > 0 ? 0 : n - 1);
    const std::int64_t end = s.end ? place(*s.end) : (s.step > 0 ? n : -1);
    // In unsigned arithmetic the smallest step has a magnitude, too.
    const auto size = s.step > 0 ? static_cast<std::uint64_t>(s.step) : 0 - static_cast<std::uint64_t>(s.step);
    const std::int64_t span = s.step > 0 ? end - begin : begin - end;
    const std::int64_t count =
        span <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / size) + 1;
    Axis axis{Axis::plain, next_, count == 0 ? 0 : begin, count, count <= 1 ? 1 : s.step, {}};
    // A number past the end is cut off there, and one before the beginning is the beginning.
    SliceAttributes rule{next_, begin, end, s.step};
    if (s.begin ? (*s.begin < 0 && *s.begin >= -n) || (*s.begin >= n && s.step < 0) : s.step < 0) {
      rule.begin = s.begin && *s.begin < 0 ? *s.begin : -1;
      rule.begin_from_end = true;
    }
    if (s.end ? (*s.end < 0 && *s.end >= -n) || (*s.end > n && s.step > 0) : s.step > 0) {
      rule.end = s.end && *s.end < 0 ? *s.end : 0;
      rule.end_from_end = true;
    }
    if (count > 0 && (rule.begin_from_end || rule.end_from_end)) axis.rule = rule;
    axes_.push_back(std::move(axis));
    ++next_;
  }

  void add_tensor(const Tensor& t) {
    if (!t.defined()) throw InvalidArgument("{}: an index is an undefined Tensor", function_);
    if (t.dtype() == DType::boolean) {
      for (int i = 0; i < t.rank(); ++i) {
        if (mask_fits(t.shape()[i], x_.shape()[next_ + i])) continue;
        throw IndexError("{}: a mask is {}, axes {} to {} of {} do not match it", function_, to_string(t.type()), next_,
                         next_ + t.rank() - 1, to_string(x_.type()));
      }
      if (t.rank() == 0) {
        // Of a new axis of size 1 it takes the element, or none.
        indexed_.push_back(axes_.size());
        axes_.push_back({Axis::tensor, -1, 0, 1, 1, nonzero(reshape(t, {1}))[0]});
        return;
      }
      for (const Tensor& places : nonzero(t)) add_indices(places);
    } else if (is_integer(t.dtype()) && bits(t.dtype()) >= 8) {
      add_indices(t);
    } else {
      throw IndexError("{}: an index is {}, expected integers or bool", function_, to_string(t.type()));
    }
  }

  void add_indices(const Tensor& t) {
    indexed_.push_back(axes_.size());
    axes_.push_back({Axis::tensor, next_, 0, size(), 1, t});
    ++next_;
  }

  // Index tensors broadcast with each other, and have one type.
  void join_indices() {
    if (indexed_.size() < 2) return;
    DType type = DType::i32;
    for (const std::size_t k : indexed_) {
      const DType t = axes_[k].indices.dtype();
      if (bits(t) == 64 || t == DType::u32) type = DType::i64;
    }
    Shape shape;
    for (const std::size_t k : indexed_) {
      try {
        shape = broadcast(shape, axes_[k].indices.shape());
      } catch (const InvalidArgument& e) {
        throw IndexError("{}: index tensors: {}", function_, e.what());
      }
    }
    for (const std::size_t k : indexed_) axes_[k].indices = broadcast_to(cast(axes_[k].indices, type), shape);
  }

  // x with slices, without integers' axes, and with new axes.
  Tensor sliced() const {
    Tensor y = x_;
    for (const Axis& a : axes_) {
      if (a.of_x < 0 || a.kind == Axis::tensor) continue;
      if (a.rule) {
        y = slice(y, *a.rule);  // y itself if that is the whole axis
        continue;
      }
      if (a.begin == 0 && a.step == 1 && a.count == x_.shape()[a.of_x]) continue;
      // The end is exclusive, in the direction of the step; -1 reaches element 0.
      const std::int64_t last = a.begin + (a.count - 1) * a.step;
      y = a.count == 0 ? slice(y, a.of_x, 0, 0) : slice(y, a.of_x, a.begin, a.step > 0 ? last + 1 : last - 1, a.step);
    }
    ReshapeAttributes left;
    for (const Axis& a : axes_) {
      if (a.kind == Axis::integer) continue;
      left.shape.push_back(a.of_x < 0 ? 1 : -1);
      left.kept.push_back(a.of_x);
    }
    return weft::reshape(y, std::move(left));  // y itself if that is its shape
  }

  // The axis of the k-th index tensor in sliced().
  int place_in_part(std::size_t k) const {
    int place = 0;
    for (std::size_t i = 0; i < indexed_[k]; ++i) place += axes_[i].kind != Axis::integer;
    return place;
  }

  std::vector<int> indexed_first() const {
    std::vector<int> order;
    for (std::size_t k = 0; k < indexed_.size(); ++k) order.push_back(place_in_part(k));
    const int rank =
        static_cast<int>(std::ranges::count_if(axes_, [](const Axis& a) { return a.kind != Axis::integer; }));
    for (int i = 0; i < rank; ++i) {
      if (std::ranges::find(order, i) == order.end()) order.push_back(i);
    }
    return order;
  }

  Tensor tuples() const {
    std::vector<Tensor> columns;
    for (const std::size_t k : indexed_) columns.push_back(axes_[k].indices);
    return stack(columns, -1);
  }

  // Where the axes of the index tensors stand in the result, and where they stand in what gather gives.
  int first_wanted() const {
    std::size_t first = axes_.size(), last = 0;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k].kind != Axis::integer && axes_[k].kind != Axis::tensor) continue;
      first = std::min(first, k);
      last = k;
    }
    for (std::size_t k = first; k <= last; ++k) {
      if (axes_[k].kind == Axis::plain || axes_[k].kind == Axis::added) return 0;
    }
    if (ellipsis_ && *ellipsis_ > first && *ellipsis_ <= last) return 0;
    return static_cast<int>(first);
  }
  int first_given() const { return indexed_.size() == 1 ? place_in_part(0) : 0; }
  int index_rank() const { return axes_[indexed_[0]].indices.rank(); }

  static Tensor moved(const Tensor& y, int count, int from, int to) {
    if (from == to || count == 0) return y;
    std::vector<int> a, b;
    for (int i = 0; i < count; ++i) {
      a.push_back(from + i);
      b.push_back(to + i);
    }
    return moveaxis(y, a, b);
  }
  Tensor placed(const Tensor& y) const { return moved(y, index_rank(), first_given(), first_wanted()); }
  Tensor unplaced(const Tensor& v) const { return moved(v, index_rank(), first_wanted(), first_given()); }

  Shape result_shape(const Tensor& part) const {
    Shape rest;
    for (int i = 0; i < part.rank(); ++i) {
      bool taken = false;
      for (std::size_t k = 0; k < indexed_.size(); ++k) taken |= place_in_part(k) == i;
      if (!taken) rest.push_back(part.shape()[i]);
    }
    const Shape chosen = axes_[indexed_[0]].indices.shape();
    Shape shape = rest;
    for (int i = 0; i < chosen.rank(); ++i) shape.insert(first_wanted() + i, chosen[i]);
    return shape;
  }

  Tensor broadcast_value(const Tensor& v, const Shape& shape) const {
    // Leading axes of one element may be left over, as in NumPy.
    Tensor y = v;
    while (y.rank() > shape.rank() && y.shape()[0] == 1) y = squeeze(y, 0);
    if (!broadcasts_to(y.shape(), shape)) {
      throw ShapeError("{}: the value is {}, which does not broadcast to the chosen elements, {}", function_,
                       to_string(v.type()), to_string(shape));
    }
    return broadcast_to(y, shape);
  }

  // The slices of x's axes, in their order.
  std::vector<const Axis*> slices() const {
    std::vector<const Axis*> all;
    for (const Axis& a : axes_) {
      if (a.of_x >= 0) all.push_back(&a);
    }
    return all;
  }

  // `whole`, in which the slices of its axes are replaced by v.
  Tensor put(const Tensor& whole, const Tensor& v) const {
    const std::vector<const Axis*> axes = slices();
    // Steps of -1 are steps of 1 through a reversed value.
    Tensor part = v;
    std::vector<int> strided, cut;
    std::vector<std::int64_t> begins;
    for (const Axis* a : axes) {
      if (a->count == 0) return whole;
      if (a->step == -1) part = flip(part, a->of_x);
      if (a->step > 1 || a->step < -1)
        strided.push_back(a->of_x);
      else if (a->count != x_.shape()[a->of_x]) {
        cut.push_back(a->of_x);
        begins.push_back(a->step == -1 ? a->begin - a->count + 1 : a->begin);
      }
    }
    if (!strided.empty()) {
      Tensor within = whole;
      for (std::size_t i = 0; i < cut.size(); ++i) {
        within = slice(within, cut[i], begins[i], begins[i] + axes[static_cast<std::size_t>(cut[i])]->count);
      }
      part = put_strided(within, part, axes, strided);
    }
    if (cut.empty()) return part;
    return dynamic_update_slice(whole, part, starts(begins), cut);
  }

  static Tensor put_strided(const Tensor& whole, const Tensor& v, const std::vector<const Axis*>& axes,
                            std::span<const int> strided) {
    if (strided.empty()) return v;
    const Axis& a = *axes[static_cast<std::size_t>(strided[0])];
    const std::int64_t last = a.begin + (a.count - 1) * a.step;
    const Tensor rows = slice(whole, a.of_x, a.begin, a.step > 0 ? last + 1 : last - 1, a.step);
    const Tensor changed = put_strided(rows, v, axes, strided.subspan(1));
    const DType type = whole.shape()[a.of_x] > std::numeric_limits<std::int32_t>::max() ? DType::i64 : DType::i32;
    return scatter_different(whole, arange(a.begin, a.step > 0 ? last + 1 : last - 1, a.step, type), changed, a.of_x);
  }

  // As numbers, so that another place of the same slice is the same executable.
  static Tensor starts(std::span<const std::int64_t> begins) {
    const auto large = [](std::int64_t b) { return b > std::numeric_limits<std::int32_t>::max(); };
    const DType type = std::ranges::any_of(begins, large) ? DType::i64 : DType::i32;
    if (begins.size() == 1) return Graph::scalar(begins[0], type);
    const Tensor place = arange(0, static_cast<std::int64_t>(begins.size()));
    Tensor all = broadcast_to(Graph::scalar(begins[0], type), place.shape());
    for (std::size_t i = 1; i < begins.size(); ++i) {
      all = select(place == static_cast<std::int64_t>(i), Graph::scalar(begins[i], type), all);
    }
    return all;
  }

  std::string_view function_;
  const Tensor& x_;
  int next_ = 0;  // axis of x
  std::vector<Axis> axes_;
  std::vector<std::size_t> indexed_;     // places in axes_
  std::optional<std::size_t> ellipsis_;  // where its axes begin in axes_
};

// A mask alone, and one value for all that it chooses: nothing has to be counted.
const Tensor* lone_mask(const Indices& at, const TensorLike& value) {
  if (at.values().size() != 1 || (value.tensor() && value.tensor()->defined() && value.tensor()->rank() > 0))
    return nullptr;
  const auto* mask = std::get_if<Tensor>(&at.values()[0].value());
  return mask && mask->defined() && mask->dtype() == DType::boolean ? mask : nullptr;
}

Tensor updated(std::string_view function, ScatterKind op, const Tensor& x, const Indices& at,
               const TensorLike& value) try {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", function);
  if (value.tensor() && !value.tensor()->defined()) {
    throw InvalidArgument("{}: the value is an undefined Tensor", function);
  }
  if (const Tensor* mask = lone_mask(at, value); mask && mask->rank() <= x.rank()) {
    Shape shape = mask->shape();
    for (int i = 0; i < mask->rank(); ++i) {
      if (mask_fits(mask->shape()[i], x.shape()[i])) continue;
      throw IndexError("{}: a mask is {}, the first axes of {} do not match it", function, to_string(mask->type()),
                       to_string(x.type()));
    }
    const Tensor own = as_tensor(function, value, x.dtype());
    if (mask->size() == 0) return x;
    for (int i = mask->rank(); i < x.rank(); ++i) shape.push_back(1);
    const Tensor chosen = reshape(*mask, shape);
    return select(chosen, combined(op, x, own), x);
  }
  return Selection(function, x, at).update(op, value);
} catch (const Error& e) {
  throw_in_function(e, function);
}

}  // namespace

Tensor Tensor::operator[](const Indices& at) const& {
  return in_function("index", [&] { return Selection("index", *this, at).get(); });
}
Tensor Tensor::operator[](const Indices& at) && try {
  const Tensor x = std::move(*this);
  return Selection("index", x, at).get();
} catch (const Error& e) {
  throw_in_function(e, "index");
}

Tensor at_set(const Operand& x, const Indices& at, const TensorLike& value) {
  return updated("at_set", ScatterKind::assign, x, at, value);
}
Tensor at_add(const Operand& x, const Indices& at, const TensorLike& value) {
  return updated("at_add", ScatterKind::add, x, at, value);
}
Tensor at_max(const Operand& x, const Indices& at, const TensorLike& value) {
  return updated("at_max", ScatterKind::max, x, at, value);
}
Tensor at_min(const Operand& x, const Indices& at, const TensorLike& value) {
  return updated("at_min", ScatterKind::min, x, at, value);
}

Tensor& Tensor::set(const Indices& at, const TensorLike& value) & {
  return *this = updated("set", ScatterKind::assign, Operand(*this), at, value);
}
Tensor& Tensor::add_at(const Indices& at, const TensorLike& value) & {
  return *this = updated("add_at", ScatterKind::add, Operand(*this), at, value);
}
Tensor& Tensor::max_at(const Indices& at, const TensorLike& value) & {
  return *this = updated("max_at", ScatterKind::max, Operand(*this), at, value);
}
Tensor& Tensor::min_at(const Indices& at, const TensorLike& value) & {
  return *this = updated("min_at", ScatterKind::min, Operand(*this), at, value);
}

}  // namespace weft
