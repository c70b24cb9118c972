// Products with quantised weights: products of weft/kernels/matmul.h whose operand dequantises what it reads.
#include "kernels/quantized/quantized_matmul.h"

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/matmul/matmul.h"
#include "kernels/quantized/decode_cpu.h"
#include "kernels/quantized/dequantize_weights.h"
#include "kernels/quantized/key.h"
#include "kernels/quantized/reader.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kName = "quantized_matmul";

class WeightOperand final : public ReadOperand {
 public:
  WeightOperand(const QuantizedMatrix& w, const QuantizedLayout& layout) : w_(w), layout_(layout) {
    if (w.values.buffer.on_host()) decoder_.emplace(w, layout);
  }

  void add(Call& call, std::string_view name, const View& view, const ReadForm& form) const override {
    read_quantized(call, name, w_, layout_, first_element(view), view.layout.offset_range()[1] + 1,
                   {.runs = form.runs, .coarse = form.coarse});
  }
  bool in_fours() const override { return layout_.in_fours(); }
  void decode(gpu::Commands& commands, const View& view, const View& to) const override {
    dequantize_elements(commands, w_, layout_, view, to);
  }
  // Runs are read as whole words.
  int run_elements() const override {
    const int elements = 32 * layout_.run_span();
    const bool whole = layout_.blocks || w_.values.offset % 4 == 0;
    return layout_.in_runs(16) && layout_.stored_columns % elements == 0 && whole ? elements : 0;
  }
  std::uint64_t bytes(const View& view) const override {
    return quantized_bytes(layout_, first_element(view), view.layout.offset_range()[1] + 1);
  }
  void load(std::int64_t first, std::int64_t count, float* to) const override {
    // Of one row, but where rows have one element.
    const std::int64_t columns = layout_.stored_columns, whole = columns == 1 ? 1 : count;
    for (std::int64_t i = 0; i < count; i += whole)
      decoder_->row((first + i) / columns, (first + i) % columns, whole, to + i);
  }
  bool multiply(const PanelRun<float>& run, std::int64_t first, std::int64_t stride) const override {
    return decoder_->multiply(run, first, stride);
  }

 private:
  const QuantizedMatrix& w_;
  const QuantizedLayout& layout_;
  std::optional<WeightDecoder> decoder_;  // on the CPU
};

}  // namespace

QuantizedProblem::QuantizedProblem(const View& x, const QuantizedMatrix& w, const std::optional<View>& chosen,
                                   const View& y, const QuantizedMatmulOptions& options, const Epilogue& epilogue)
    : weights(w), layout(quantized_layout(kName, weights)) {
  // An epilogue gives y any type.
  View sums = y;
  if (epilogue.expression) sums.dtype = x.dtype;
  check_views(kName, {&x, &w.values, pointer(w.scales), pointer(w.zeros), pointer(w.groups), pointer(chosen)}, {&sums});
  reader = std::make_shared<WeightOperand>(weights, layout);
  // The matrices as they would be in memory.
  View elements;
  elements.dtype = x.dtype == DType::bf16 ? DType::f32 : x.dtype;
  elements.buffer = placeholder_memory();
  Shape shape = quantized_shape(w.format, w.values.dtype, w.values.shape());
  shape[shape.rank() - 1] = layout.stored_columns;
  elements.layout = Layout::dense(shape);
  elements.layout.shape[shape.rank() - 1] = layout.columns;
  if (options.transposed) {
    std::swap(elements.layout.shape[-1], elements.layout.shape[-2]);
    std::swap(elements.layout.strides[-1], elements.layout.strides[-2]);
  }
  if (chosen && elements.rank() != 3) {
    throw ShapeError("{}: values are {}, expected those of [matrices, rows, columns], of which some are chosen", kName,
                     to_string(w.values));
  }
  if (chosen && elements.shape()[0] == 0 && y.count() != 0) {
    throw ShapeError("{}: values are {}, there is no matrix to choose", kName, to_string(w.values));
  }
  problem = matmul_problem(x, {reader.get(), elements, chosen}, y, epilogue);
}

namespace {

void check_all_memory(Stream& s, const View& x, const QuantizedMatrix& w, const std::optional<View>& chosen,
                      std::span<const View> operands, const View& y) {
  check_memory(s, kName,
               {{"x", x},
                {"values", w.values},
                {"scales", w.scales},
                {"zeros", w.zeros},
                {"groups", w.groups},
                {"chosen", chosen}},
               {{"y", y}}, Sharing::none);
  check_memory(s, kName, {{"epilogue operand", operands}}, {{"y", y}}, Sharing::same_view);
}

}  // namespace

void quantized_matmul_by(gpu::Commands& commands, const QuantizedProblem& q, const Expression* epilogue,
                         const MatmulVariant& variant) {
  const MatmulProblem& p = q.problem;
  const View& x = p.reader_is_b ? p.a : p.b;
  const std::optional<View> chosen = p.chosen ? std::optional(*p.chosen) : std::nullopt;
  call_once(commands,
            {x, q.weights.values, q.weights.scales, q.weights.zeros, q.weights.groups, chosen, p.operands, p.y},
            [&](Stream& s) {
              check_all_memory(s, x, q.weights, chosen, p.operands, p.y);
              matmul_of_read(*s.gpu(), p, epilogue, &variant);
            });
}

void quantized_matmul(Stream& stream, const View& x, const QuantizedMatrix& w, const std::optional<View>& chosen,
                      const View& y, const QuantizedMatmulOptions& options, const Epilogue& epilogue) {
  call(stream, quantized_key(kName, w.format, options.transposed, epilogue.expression),
       {x, w.values, w.scales, w.zeros, w.groups, chosen, epilogue.operands, y}, [&](Stream& s) {
         check_all_memory(s, x, w, chosen, epilogue.operands, y);
         const QuantizedProblem q(x, w, chosen, y, options, epilogue);
         if (y.count() == 0) return;
         gpu::Commands* commands = s.gpu();
         if (!commands) return matmul_cpu(*s.cpu(), q.problem, epilogue.expression);
         for (const View* operand : {&x, &y}) {
           if (operand->dtype == DType::f64)
             throw Unsupported("{}: {} on a GPU, which has no f64", kName, to_string(*operand));
         }
         if (chosen) {
           const std::uint64_t all = quantized_bytes(q.layout, 0, q.layout.stored());
           const std::uint64_t most = chunk_limit(commands->device().capabilities());
           if (all > most) {
             throw Unsupported(
                 "{}: values are {}, matrices to choose from; this device binds {} bytes, of 2^32 elements", kName,
                 to_string(w.values), most);
           }
         }
         matmul_of_read(*commands, q.problem, epilogue.expression, nullptr);
       });
}

}  // namespace weft::kernels
