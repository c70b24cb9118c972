#include "weft/kernels/table.h"

#include <algorithm>
#include <format>
#include <ranges>

#include "core/format.h"
#include "core/nearest.h"
#include "kernels/check.h"
#include "kernels/table_rows.h"
#include "weft/error.h"

namespace weft::kernels {

namespace {

const TableRows& rows() {
  static const TableRows all = [] {
    TableRows rows;
    for (const auto add : collected_rows()) add(rows);
    return rows;
  }();
  return all;
}

const TableRows& forms() {
  static const TableRows all = [] {
    TableRows forms;
    for (const auto add : collected_forms()) add(forms);
    return forms;
  }();
  return all;
}

using Names = std::map<std::string_view, const KernelInfo*>;

const Names& row_names() {
  static const Names names = [] {
    Names all;
    for (const KernelInfo& k : rows()) {
      all.emplace(k.name, &k);
      for (const std::string& other : k.other_names) all.emplace(other, &k);
    }
    return all;
  }();
  return names;
}

const Names& all_names() {
  static const Names names = [] {
    Names all;
    for (const KernelInfo& k : forms()) all.emplace(k.name, &k);
    all.insert(row_names().begin(), row_names().end());
    return all;
  }();
  return names;
}

const KernelInfo* found(const Names& names, std::string_view name) {
  const auto k = names.find(name);
  return k == names.end() ? nullptr : k->second;
}

// Operands as a schema is asked about them.
class Given {
 public:
  explicit Given(std::span<const View> views) {
    for (const View& v : views) types_.push_back({v.dtype, v.shape()});
    for (std::size_t i = 0; i < views.size(); ++i) given_.push_back(views[i].buffer ? &types_[i] : nullptr);
  }
  explicit Given(std::initializer_list<const View*> views) {
    for (const View* v : views) types_.push_back(v ? TensorType{v->dtype, v->shape()} : TensorType());
    std::size_t i = 0;
    for (const View* v : views) given_.push_back(v ? &types_[i] : nullptr), ++i;
  }
  std::span<const TensorType* const> operands() const { return given_; }

 private:
  std::vector<TensorType> types_;
  std::vector<const TensorType*> given_;
};

}  // namespace

std::span<const KernelInfo> table() { return rows(); }

const KernelInfo* find(std::string_view name) {
  // Forms are made of rows, which are found first.
  if (const KernelInfo* k = found(row_names(), name); k && k->name == name) return k;
  return found(all_names(), name);
}

const KernelInfo& kernel(std::string_view name) {
  if (const KernelInfo* info = find(name)) return *info;
  throw InvalidArgument("there is no kernel '{}'{}", name,
                        nearest_text(nearest(name, std::views::keys(all_names())), "; `weft kernels` lists them"));
}

void check_views(std::string_view name, std::initializer_list<const View*> inputs,
                 std::initializer_list<const View*> outputs) {
  check_operands(kernel(name), name, Given(inputs).operands(), Given(outputs).operands());
}

void call(Stream& stream, std::string_view name, const Arguments& arguments) {
  const KernelInfo& k = kernel(name);
  check_operands(k, k.name, Given(arguments.inputs).operands(), Given(arguments.outputs).operands());
  k.run(stream, {arguments.inputs, arguments.outputs, complete_attributes(k, arguments.attributes)});
}

}  // namespace weft::kernels
