#include "kernels/call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/str_cat.h"
#include "gpu/device_impl.h"
#include "kernels/accessors.h"
#include "kernels/device_math.h"
#include "kernels/elementwise/expression_wgsl.h"
#include "kernels/library.h"
#include "kernels/source.h"
#include "kernels/template.h"
#include "weft/error.h"

namespace weft::kernels {
bool can_vectorise(const View& view) {
  const int b = bits(view.dtype);
  if (b > 32 || b < 8) return false;
  if (view.offset * 8 / b % 4 != 0) return false;
  if (view.is_dense()) return view.count() % 4 == 0;
  const int rank = view.rank();
  if (view.strides()[-1] != 1 || view.shape()[-1] % 4 != 0) return false;
  for (int i = 0; i + 1 < rank; ++i) {
    if (view.shape()[i] != 1 && view.strides()[i] % 4 != 0) return false;
  }
  return true;
}

namespace {

constexpr std::string_view kCustom = "custom";  // whose text is the caller's

// Appends the expression to a key: unambiguous, and quick to write.
void append_expression(std::string& key, const Expression& e) {
  for (const Expression::Node& node : e.nodes()) {
    str_append(key, name(node.op), '.', static_cast<int>(node.type));
    if (node.op == ScalarOp::input)
      str_append(key, '(', node.input, ')');
    else if (node.op == ScalarOp::constant)
      str_append(key, '(', node.bits, ')');
    else
      str_append(key, '(', node.args[0], ',', node.args[1], ',', node.args[2], ')');
  }
  for (const int output : e.outputs()) str_append(key, '>', output);
}

void append_value(std::string& key, std::int64_t value) { str_append(key, value); }
void append_value(std::string& key, bool value) { str_append(key, value ? "true" : "false"); }
void append_value(std::string& key, const std::string& value) { str_append(key, value.size(), '"', value); }
void append_value(std::string& key, const std::vector<std::string>& values) {
  for (const std::string& value : values) append_value(key, value);
}

}  // namespace

std::uint32_t workgroup_size(const gpu::Capabilities& capabilities, std::uint32_t wanted) {
  return std::min(wanted, capabilities.max_workgroup_size);
}

Call::Call(gpu::Commands& commands, std::string_view kernel)
    : commands_(commands), capabilities_(commands.device().capabilities()), kernel_(kernel) {
  // Growing these step by step would take a third of a call's time.
  key_.reserve(2048);
  key_ += kernel;
  head_.operands.reserve(8);
  views_.reserve(8);
  head_.params.reserve(48);
  param_values_.reserve(48);
  variables_.reserve(32);
}

Call& Call::read(std::string_view name, const View& view, int width, std::uint32_t pair_stride) {
  return operand(name, view, width, true, false, pair_stride);
}
Call& Call::write(std::string_view name, const View& view, int width, std::uint32_t pair_stride) {
  return operand(name, view, width, false, true, pair_stride);
}
Call& Call::read_write(std::string_view name, const View& view, int width) {
  return operand(name, view, width, true, true);
}

Call& Call::operand(std::string_view name, const View& view, int width, bool loads, bool stores,
                    std::uint32_t pair_stride) {
  str_append(key_, '|', name, ':', weft::name(view.dtype), 'x', width, loads ? "r" : "", stores ? "w" : "");
  if (pair_stride) str_append(key_, '/', pair_stride);
  head_.operands.push_back({std::string(name), view.dtype, width, loads, stores,
                            element_type(view.dtype, pair_stride ? 1 : width, stores), 0});
  if (pair_stride) head_.operands.back().pair_stride = pair_stride;
  head_.operands.back().element_bytes = element_size(view.dtype, width);
  views_.push_back(view);
  if (view.buffer.is_number()) add_number(view);
  return *this;
}

void Call::add_number(const View& view) {
  ShaderHead::BoundOperand& op = head_.operands.back();
  if (op.stores) throw InvalidArgument("{}: {} is a number, which cannot be written", kernel_, op.name);
  // Axes of one element may have any stride.
  const auto [low, high] = view.layout.offset_range();
  if (low != high) {
    throw InvalidArgument("{}: {} {} is a number, of which there is one element", kernel_, op.name, to_string(view));
  }
  key_ += "#";
  op.number = true;
  op.binding = -1;
  op.width = 1;
  std::uint32_t words[2];
  std::memcpy(words, view.buffer.data(), sizeof words);
  const auto size = static_cast<std::uint32_t>(std::max(bits(view.dtype), 8)) / 8;
  numbers_.push_back({view.buffer, static_cast<std::uint32_t>(4 * param_values_.size()), size});
  const std::string name = op.name + "_number";
  add_param(name, 'u', words[0]);
  if (size == 8) add_param(name + "_high", 'u', words[1]);
}

Call& Call::update(std::string_view name, const View& view) {
  operand(name, view, 1, true, true);
  key_ += "u";
  head_.operands.back().element = "atomic<u32>";
  head_.operands.back().updates = true;
  return *this;
}

Call& Call::raw(std::string_view name, const View& view, std::string_view element, int element_bytes,
                gpu::Access access) {
  if (view.buffer.is_number()) throw Unsupported("{}: {} must be memory, it is a number", kernel_, name);
  str_append(key_, '|', name, ":raw ", element, access == gpu::Access::read ? " r" : " rw");
  head_.operands.push_back(
      {std::string(name), view.dtype, 0, true, access == gpu::Access::read_write, std::string(element), 0});
  head_.operands.back().element_bytes = element_bytes;
  views_.push_back(view);
  return *this;
}

Call& Call::set(std::string_view name, std::int64_t value) {
  variables_.emplace_back(name, value);
  return *this;
}
Call& Call::set(std::string_view name, bool value) {
  variables_.emplace_back(name, value);
  return *this;
}
Call& Call::set(std::string_view name, std::string_view value) {
  variables_.emplace_back(name, std::string(value));
  return *this;
}
Call& Call::set(std::string_view name, const std::vector<std::string>& values) {
  variables_.emplace_back(name, values);
  return *this;
}
Call& Call::include(std::string_view kernel) {
  if (std::ranges::find(includes_, kernel) == includes_.end()) includes_.emplace_back(kernel);
  return *this;
}
Call& Call::expression(const Expression& expression, ExpressionRole role, int width, bool fast_path) {
  expression_ = &expression;
  expression_width_ = width;
  fast_path_ = fast_path;
  role_ = role;
  if (fast_path) key_ += "|fast_path";
  str_append(key_, "|role", static_cast<int>(role));
  if (names_opaque_zero(expression, capabilities_.reassociates_fp, role)) opaque_zero();
  str_append(key_, "|expression", width, ':');
  append_expression(key_, expression);
  return *this;
}
Call& Call::epilogue(const Expression* expression, int width) {
  std::string text;
  if (expression) {
    text = expression_wgsl(*expression, width, capabilities_.reassociates_fp, "epilogue", ExpressionRole::epilogue);
  }
  if (text.find("p.opaque_zero") != std::string::npos) opaque_zero();
  return set("epilogue", text);
}
Call& Call::enable(std::string_view extension) {
  if (std::ranges::find(head_.enables, extension) == head_.enables.end()) head_.enables.emplace_back(extension);
  return *this;
}

void Call::add_param(std::string_view name, char type, std::uint32_t bits) {
  head_.params.push_back({std::string(name), type});
  param_values_.push_back(bits);
}
Call& Call::param(std::string_view name, std::uint32_t value) {
  add_param(name, 'u', value);
  return *this;
}
Call& Call::param(std::string_view name, std::int32_t value) {
  add_param(name, 'i', static_cast<std::uint32_t>(value));
  return *this;
}
Call& Call::param(std::string_view name, float value) {
  add_param(name, 'f', std::bit_cast<std::uint32_t>(value));
  return *this;
}
Call& Call::opaque_zero() { return zero_param("opaque_zero"); }
Call& Call::opaque_start() { return zero_param("opaque_start"); }
Call& Call::zero_param(std::string_view name) {
  const auto is_it = [&](const ShaderHead::Param& p) { return p.name == name; };
  return std::ranges::any_of(head_.params, is_it) ? *this : param(name, 0u);
}
Call& Call::index_param(std::string_view name, std::int64_t value) {
  if (value >= (std::int64_t{1} << 32) || value < -(std::int64_t{1} << 31)) {
    throw Unsupported("{}: {} = {} is past the 2^32 elements that one dispatch can count", kernel_, name, value);
  }
  add_param(name, 'u', static_cast<std::uint32_t>(value));
  return *this;
}

Call& Call::assume_aligned(int elements) {
  head_.aligned_elements = elements;
  return *this;
}

Call& Call::iterate(const Shape& shape) {
  head_.iterate_rank = shape.rank();
  for (int i = 0; i < shape.rank(); ++i) index_param(str_cat('n', i), shape[i]);
  return *this;
}

Call& Call::strides(std::string_view operand, const Strides& strides) {
  head_.strided.emplace_back(operand, strides.rank());
  const int n = head_.unit(operand);
  for (int i = 0; i < strides.rank(); ++i) index_param(str_cat(operand, "_s", i), strides[i] / n);
  return *this;
}

std::string Call::wgsl() const {
  if (options_are_checked()) check_options(kernel_, includes_, variables_);
  nlohmann::ordered_json context;
  for (const auto& [name, value] : variables_) std::visit([&](const auto& v) { context[name] = v; }, value);
  context["subgroups"] = capabilities_.subgroups;
  std::vector<std::string> templates;
  for (const auto& name : includes_) templates.push_back(kernel_source(name));
  templates.push_back(kernel_source(kernel_));
  std::string result = head_.wgsl();
  const bool reassociates_fp = capabilities_.reassociates_fp;
  if (expression_) result += expression_wgsl(*expression_, expression_width_, reassociates_fp, "expression", role_);
  const DeviceForms forms = device_forms(commands_.device());
  if (expression_ && fast_path_) result += expression_fast_wgsl(*expression_, forms, reassociates_fp);
  const std::string rendered = render_templates(templates, context);
  // Tested only where it matters: most kernels have no such call, and a user's text stays as it is.
  const std::string kept = kernel_ == kCustom ? rendered : with_nan_kept(rendered);
  result += kept != rendered && !keeps_nan(commands_.device()) ? kept : rendered;
  // A function that the text declares is not taken from the library.
  if (result.find("narrow_f16") != std::string::npos) result += f16_packing(commands_.device());
  return result + library_for(result, forms);
}

Call& Call::cost(const Work& work) {
  work_ = work;
  return *this;
}

Call& Call::variant(std::string_view name, std::string_view why) {
  variant_ = name;
  why_ = why;
  return *this;
}

Work Call::work() const {
  Work w = work_.value_or(Work{});
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < head_.operands.size(); ++i) {
    if (head_.operands[i].stores) elements = std::max(elements, views_[i].count());
    if (!work_ || work_->bytes == 0) w.bytes += touched_bytes(views_[i]);
  }
  if (!work_ && expression_) {
    w.flops = static_cast<double>(elements) * expression_->operation_count();
    w.functions = static_cast<double>(elements) * expression_->cost();
  }
  return w;
}

// Prepares the first dispatch: bindings and the complete key. The last parameter is the first workgroup.
void Call::prepare() {
  const std::vector<std::int64_t> offsets = head_.assign_bindings(kernel_, views_, capabilities_, key_);
  for (std::size_t i = 0; i < offsets.size(); ++i) index_param(head_.offset_param(head_.operands[i]), offsets[i]);
  param("first_group", 0u);
  for (const auto& [name, value] : variables_) {
    str_append(key_, ';', name, '=');
    std::visit([this](const auto& v) { append_value(key_, v); }, value);
  }
  for (const auto& name : includes_) str_append(key_, '+', name);
  for (const auto& name : head_.enables) str_append(key_, '!', name);
  for (const auto& p : head_.params) str_append(key_, ',', p.type, p.name);
}

void Call::record(std::string_view label, const std::array<std::uint32_t, 3>& workgroups, const Work& work) {
  ObservedForms::tell({kernel_, includes_, variables_, head_.operands});
  std::vector<gpu::Binding> bindings;
  for (const ShaderHead::Binding& binding : head_.bindings) bindings.push_back(binding.range);
  commands_.dispatch({.key = key_,
                      .make_wgsl = [this] { return stored_wgsl(); },
                      .describe = kernel_ == kCustom ? nullptr : std::function([this] { return describe(); }),
                      .bindings = bindings,
                      .params = std::as_bytes(std::span(param_values_)),
                      .numbers = numbers_,
                      .workgroups = workgroups,
                      .label = label,
                      .work = work,
                      .variant = variant_,
                      .why = why_});
}

std::string Call::describe() const {
  std::string text = kernel_;
  if (!variant_.empty()) str_append(text, ", variant ", variant_);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    str_append(text, i ? ", " : " of ", head_.operands[i].name, ' ', to_string(views_[i]));
  }
  const gpu::AdapterInfo& adapter = commands_.device().adapter();
  str_append(text, ", on ", adapter.name, " (", adapter.backend, ", ", adapter.driver, ')');
  return text;
}

std::string Call::stored_wgsl() const {
  gpu::DiskCache* const cache = commands_.device().impl().cache;
  if (!cache || sources_fingerprint().empty()) return wgsl();
  const std::string name = std::format(
      "wgsl {} {}{}{}: {}", sources_fingerprint(), capabilities_.minimum ? "minimum " : "",
      capabilities_.reassociates_fp ? "reorders " : "", capabilities_.subgroups ? "subgroups" : "plain", key_);
  const auto key = std::as_bytes(std::span(name));
  const std::vector<std::byte> stored = cache->load(key);
  if (!stored.empty()) return std::string(reinterpret_cast<const char*>(stored.data()), stored.size());
  std::string text = wgsl();
  cache->store(key, std::as_bytes(std::span(text)));
  return text;
}

void Call::dispatch(std::string_view label, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  if (x == 0 || y == 0 || z == 0) return;
  prepare();
  record(label, {x, y, z}, work());
}

Call& Call::single_dispatch() {
  single_dispatch_ = true;
  return *this;
}

bool is_one_dispatch(const gpu::Capabilities& capabilities, std::int64_t elements, int bytes_each) {
  return Work{.bytes = static_cast<std::uint64_t>(elements * bytes_each)}.amount() < capabilities.max_dispatch_work;
}

void Call::dispatch_groups(std::string_view label, std::int64_t count) {
  if (count <= 0) return;
  const std::int64_t limit = capabilities_.max_workgroups;
  if (count > limit * limit) {
    throw Unsupported("{}: {} workgroups, more than two dimensions of {} hold", kernel_, count, limit);
  }
  prepare();
  const Work whole = work();
  // The grids of all parts but the last are exact: no workgroup runs twice, which would break in-place kernels.
  const double wanted = single_dispatch_ ? 1 : std::ceil(whole.amount() / capabilities_.max_dispatch_work);
  const double parts = std::min(wanted, static_cast<double>(count));
  std::int64_t part = parts > 1 ? ceil_div(count, static_cast<std::int64_t>(parts)) : count;
  if (part > limit && part < count) part = std::min(ceil_div(part, limit) * limit, count);
  for (std::int64_t first = 0; first < count; first += part) {
    const std::int64_t size = std::min(part, count - first);
    const std::int64_t y = size == part && part < count && part > limit ? part / limit : ceil_div(size, limit);
    const std::int64_t x = ceil_div(size, y);
    param_values_.back() = static_cast<std::uint32_t>(first);
    Work share = whole;
    const double fraction = static_cast<double>(size) / static_cast<double>(count);
    share.bytes = static_cast<std::uint64_t>(static_cast<double>(whole.bytes) * fraction);
    share.flops *= fraction;
    share.functions *= fraction;
    record(label, {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 1}, size == count ? whole : share);
  }
}

}  // namespace weft::kernels
