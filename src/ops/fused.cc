#include "ops/fused.h"

#include "core/format.h"
#include "graph/graph.h"
#include "ops/elementwise.h"
#include "ops/product.h"
#include "weft/error.h"

namespace weft {

OpPtr with_fusion(const OpPtr& op, std::size_t operands, std::optional<Expression> prologue,
                  std::optional<Expression> epilogue) {
  const auto* fused = dynamic_cast<const FusedOp*>(op.get());
  const OpPtr& base = fused ? fused->base() : op;
  if (!prologue && !epilogue) return base;
  return make_op<FusedOp>(base, operands, std::move(prologue), std::move(epilogue));
}

void FusedOp::visit(AttributeVisitor& v) const {
  auto& e = const_cast<FusedOp&>(*this);  // visitors of ops only read
  if (prologue_) v.text("prologue", *e.prologue_, "what makes the operand that the op reads it as");
  base_->visit(v);
  if (epilogue_) v.text("epilogue", *e.epilogue_, "what becomes of the result");
}

Fusion FusedOp::fusion() const {
  return {.operand = base_->fusing().prologue_operand(),
          .prologue = prologue_ ? &*prologue_ : nullptr,
          .epilogue = epilogue_ ? &*epilogue_ : nullptr};
}

FusedOperands<const TensorType> FusedOp::split(std::span<const TensorType> in) const {
  return split_operands(fusion(), in);
}

std::vector<TensorType> FusedOp::own(std::span<const TensorType> in) const {
  const auto parts = split(in);
  TensorType x{prologue_ ? prologue_->output_type(0) : parts.prologue[0].dtype, {}};
  for (const TensorType& t : parts.prologue) x.shape = broadcast(x.shape, t.shape);
  std::vector<TensorType> own(parts.first.begin(), parts.first.end());
  own.push_back(x);
  own.insert(own.end(), parts.rest.begin(), parts.rest.end());
  return own;
}

std::vector<TensorType> FusedOp::infer(std::span<const TensorType> in) const {
  const std::size_t before = prologue_ ? static_cast<std::size_t>(prologue_->input_count()) : 1;
  const std::size_t after = epilogue_ ? static_cast<std::size_t>(epilogue_->input_count()) - 1 : 0;
  if (in.size() != before + operands_ - 1 + after) {
    throw InvalidArgument("{}: {} operands, expected {}", name(), in.size(), before + operands_ - 1 + after);
  }
  const std::vector<TensorType> types = own(in);
  std::vector<TensorType> results = base_->infer(types);
  const Shape y = results[0].shape;
  for (const TensorType& t : in.last(after)) {
    if (broadcasts_to(t.shape, y)) continue;
    throw ShapeError("{}: the epilogue's operand {} does not broadcast to the result {}", name(), weft::to_string(t),
                     weft::to_string(y));
  }
  if (epilogue_) {
    if (results[0].dtype == DType::c64 &&
        base_->fusing().fusion_spec(nullptr, types, results).epilogue_input != DType::c64) {
      throw TypeError("{}: c64 takes no epilogue", name());
    }
    results.clear();
    for (std::size_t k = 0; k < epilogue_->outputs().size(); ++k) {
      results.push_back({epilogue_->output_type(static_cast<int>(k)), y});
    }
  }
  for (std::size_t k = 1; k <= extra_outputs(); ++k) {
    results.push_back(
        {prologue_->output_type(static_cast<int>(k)), types[static_cast<std::size_t>(fusion().operand)].shape});
  }
  return results;
}

FusionSpec FusedOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                                std::span<const TensorType>) const {
  const std::vector<TensorType> types = own(in);
  FusionSpec spec = base_->fusing().fusion_spec(device, types, base_->infer(types));
  if (!spec.again) return {};
  spec.prologue = false;
  if (extra_outputs() > 0) spec.extra_outputs = false;
  if (epilogue_) spec.epilogue_outputs = 0;
  return spec;
}

OpPtr FusedOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                          std::span<const DType> results) const {
  const std::vector<TensorType> types = own(from);
  const std::vector<TensorType> made = base_->infer(types);
  const FusionSpec spec = base_->fusing().fusion_spec(nullptr, types, made);
  if (!spec.narrow_operands) return nullptr;
  const auto before = split(from), now = split(to);
  std::size_t k = 0;  // results
  const auto output = [&](Expression& e, int value, bool narrow) {
    e.output(narrow ? e.cast(value, results[k]) : value);
    ++k;
  };

  std::optional<Expression> epilogue;
  if (epilogue_ || (spec.narrow_results && results[0] != made[0].dtype)) {
    if (!epilogue_ && spec.epilogue_outputs == 0 && !base_->fusing().takes_epilogue()) return nullptr;
    epilogue.emplace();
    const DType rounded = epilogue_ ? epilogue_->nodes()[0].type : spec.epilogue_input;
    std::vector<int> args{epilogue->input(rounded)};
    for (const int node : converted_inputs(*epilogue, now.epilogue, before.epilogue)) args.push_back(node);
    if (epilogue_) {
      for (const int value : splice(*epilogue, *epilogue_, args)) output(*epilogue, value, spec.narrow_results);
    } else {
      output(*epilogue, epilogue->cast(args[0], made[0].dtype), true);
    }
  } else {
    k = made.size();
  }
  std::optional<Expression> prologue;
  if (prologue_) {
    prologue.emplace();
    const std::vector<int> values =
        splice(*prologue, *prologue_, converted_inputs(*prologue, now.prologue, before.prologue));
    prologue->output(values[0]);
    for (std::size_t i = 1; i <= extra_outputs(); ++i) output(*prologue, values[i], spec.narrow_extra_outputs);
  }
  return with_fusion(base_, operands_, std::move(prologue), std::move(epilogue));
}

std::optional<WeightOperand> FusedOp::weight_operand() const {
  auto weights = base_->rewriting().weight_operand();
  const int made = base_->fusing().prologue_operand();
  if (!weights || !prologue_ || weights->operand < made) return weights;
  if (weights->operand == made) return std::nullopt;  // it is no operand any more
  weights->operand += prologue_->input_count() - 1;
  return weights;
}

// Extra outputs are stored before the base's other operands and the epilogue's are read.
bool FusedOp::works_in_place(std::size_t) const {
  return base_->fusing().works_in_place_fused() && (extra_outputs() == 0 || (operands_ == 1 && !epilogue_));
}

template <class F>
auto FusedOp::launch(const Launch& call, F&& f) const {
  const auto parts = split_operands(fusion(), call.inputs);
  const std::size_t extra = extra_outputs(), results = call.outputs.size() - extra;
  Shape x;
  for (const View& v : parts.prologue) x = broadcast(x, v.shape());
  std::vector<View> inputs(parts.first.begin(), parts.first.end()), before, after;
  inputs.push_back(parts.prologue[0].broadcast_to(x));
  for (const View& v : parts.prologue.subspan(1)) before.push_back(v.broadcast_to(x));
  inputs.insert(inputs.end(), parts.rest.begin(), parts.rest.end());
  for (const View& v : parts.epilogue) after.push_back(v.broadcast_to(call.outputs[0].shape()));
  const std::size_t own = epilogue_ ? 1 : results;
  const kernels::Fusion fusion{{prologue_ ? &*prologue_ : nullptr, before, call.outputs.subspan(results)},
                               {epilogue_ ? &*epilogue_ : nullptr, after, call.outputs.subspan(own, results - own)}};
  return f(Launch{call.stream, inputs, call.outputs.first(own), fusion});
}

void FusedOp::lower(const Launch& call) const {
  launch(call, [&](const Launch& own) { base_->lower(own); });
}

std::optional<std::string> FusedOp::unsupported(const Launch& call) const {
  return launch(call, [&](const Launch& own) { return base_->unsupported(own); });
}

Work FusedOp::work(const Launch& call) const {
  return launch(call, [&](const Launch& launch) {
    const auto own = base_->own_work(launch.inputs, launch.outputs);
    if (!own) return Op::work(call);
    Work work = with_bytes(
        call, kernels::work_of(own->per_step, own->steps, prologue_ ? &*prologue_ : nullptr,
                               static_cast<double>(launch.outputs[0].count()), epilogue_ ? &*epilogue_ : nullptr));
    work.arithmetic = own->arithmetic;
    return work;
  });
}

std::string FusedOp::label(std::span<const TensorType> in) const {
  const std::vector<TensorType> types = own(in);
  const std::string plain = base_->label(types);
  const auto channels = base_->rewriting().channel_axes();
  if (!channels) return operations_around(plain, prologue_, epilogue_);
  const Shape y = base_->infer(types)[0].shape;
  const int axis = channels->result < 0 ? channels->result + y.rank() : channels->result;
  return product_label(plain, epilogue_, split(in).epilogue, y, axis);
}

}  // namespace weft
