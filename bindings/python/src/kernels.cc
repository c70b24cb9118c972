// Kernels of a program's own in WGSL: CustomKernel, whose functions are Python's.
#include "core.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "weft/compile.h"
#include "weft/custom_op.h"
#include "weft/error.h"

namespace weft::python {
namespace {

struct KernelObject {
  std::shared_ptr<const CustomKernel> kernel;
};

// A function of a program's that executables keep. Those that are kept to the end would keep what its module holds, so
// all of them end with the program.
class ProgramFunction {
 public:
  explicit ProgramFunction(nb::handle function) : object_(shared(function)) {}
  // With Python's lock.
  template <class... Args>
  nb::object operator()(Args&&... args) const {
    if (!object_) throw InvalidArgument("the program has ended");
    return nb::handle(object_.get())(std::forward<Args>(args)...);
  }
  void end() { object_.reset(); }

 private:
  SharedObject object_;
};

struct ProgramFunctions {
  std::mutex mutex;
  std::vector<std::weak_ptr<ProgramFunction>> all;
};
ProgramFunctions& program_functions() {
  static auto& value = *new ProgramFunctions;
  return value;
}

std::shared_ptr<ProgramFunction> program_function(nb::handle function) {
  auto made = std::make_shared<ProgramFunction>(function);
  ProgramFunctions& known = program_functions();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.all, [](const auto& f) { return f.expired(); });
  known.all.push_back(made);
  return made;
}

void end_program_functions() {
  std::vector<std::weak_ptr<ProgramFunction>> all;
  {
    const std::lock_guard lock(program_functions().mutex);
    all.swap(program_functions().all);
  }
  for (const auto& f : all) {
    if (const auto function = f.lock()) function->end();
  }
}

nb::list described(std::span<const TensorType> types) {
  nb::list list;
  for (const TensorType& t : types) {
    nb::list sizes;
    for (const std::int64_t n : t.shape) sizes.append(n);
    list.append(nb::make_tuple(nb::tuple(sizes), dtype_object(t.dtype)));
  }
  return list;
}

// What Python says of a kernel's results and of how often it runs, for operands of these types. It is asked once for
// each combination of types, since compilers ask again on threads without Python's lock.
class KernelForm {
 public:
  struct Facts {
    std::vector<TensorType> results;
    std::int64_t threads = 0;
    std::array<std::uint32_t, 3> workgroups = {1, 1, 1};
  };
  explicit KernelForm(nb::handle function) : function_(program_function(function)) {}

  Facts of(std::span<const TensorType> inputs) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [types, facts] : known_) {
        if (std::ranges::equal(types, inputs)) return facts;
      }
    }
    Facts facts = ask(inputs);
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMost) known_.clear();
    known_.emplace_back(std::vector(inputs.begin(), inputs.end()), facts);
    return facts;
  }

 private:
  // (results as (shape, data type), threads, workgroups), the last two None where they are not said.
  Facts ask(std::span<const TensorType> inputs) const {
    const nb::gil_scoped_acquire acquire;
    const auto answer = nb::cast<nb::tuple>((*function_)(described(inputs)));
    Facts facts;
    for (const nb::handle r : nb::borrow<nb::object>(answer[0])) {
      const auto pair = nb::cast<nb::tuple>(r);
      facts.results.push_back({dtype_of_object(pair[1]), shape_from(pair[0])});
    }
    if (!answer[1].is_none()) facts.threads = integer_from(answer[1], "threads");
    if (!answer[2].is_none()) {
      const std::vector<std::int64_t> grid = integers_from(answer[2], "workgroups");
      if (grid.empty() || grid.size() > 3) throw InvalidArgument("workgroups are one to three numbers");
      for (std::size_t i = 0; i < grid.size(); ++i) {
        if (grid[i] < 0 || grid[i] > 0xffffffff) throw InvalidArgument("workgroups are numbers from 0 to 4294967295");
        facts.workgroups[i] = static_cast<std::uint32_t>(grid[i]);
      }
    }
    return facts;
  }

  static constexpr std::size_t kMost = 64;
  std::shared_ptr<ProgramFunction> function_;
  std::mutex mutex_;
  std::vector<std::pair<std::vector<TensorType>, Facts>> known_;
};

// Calls the function on copies of the operands, which it may keep, and copies what it gives: bytes for each result.
void run_on_cpu(const ProgramFunction& function, std::span<const View> inputs, std::span<const View> outputs) {
  const nb::gil_scoped_acquire acquire;
  std::vector<Tensor> operands;
  std::vector<TensorType> types;
  for (const View& in : inputs) {
    const TensorType type{in.dtype, in.shape()};
    Buffer copy = Buffer::host(byte_size(type));
    if (copy.size() > 0) std::memcpy(copy.data(), in.buffer.data() + in.offset, copy.size());
    operands.emplace_back(Device::cpu(), View(std::move(copy), 0, type.dtype, type.shape));
  }
  for (const View& out : outputs) types.push_back({out.dtype, out.shape()});
  const auto made = nb::cast<nb::list>(function(arrays(operands), described(types)));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto bytes = nb::cast<nb::bytes>(made[i]);
    if (bytes.size() != byte_size(types[i])) throw InternalError("a result of another size than its type");
    if (bytes.size() > 0) std::memcpy(outputs[i].buffer.data() + outputs[i].offset, bytes.c_str(), bytes.size());
  }
}

std::vector<std::string> texts(nb::handle sequence) {
  std::vector<std::string> all;
  for (const nb::handle t : nb::borrow<nb::object>(sequence)) all.push_back(nb::cast<std::string>(t));
  return all;
}

std::shared_ptr<const CustomKernel> make_kernel(const std::string& name, const std::string& wgsl, nb::handle inputs,
                                                nb::handle outputs, nb::handle numbers, nb::handle enables,
                                                nb::handle form, bool has_workgroups, nb::handle cpu) {
  auto kernel = std::make_shared<CustomKernel>();
  kernel->name = name;
  kernel->wgsl = wgsl;
  kernel->inputs = texts(inputs);
  kernel->outputs = texts(outputs);
  kernel->enables = texts(enables);
  // Each is (name, "u32", "i32" or "f32", value).
  for (const nb::handle n : nb::borrow<nb::object>(numbers)) {
    const auto number = nb::cast<nb::tuple>(n);
    const auto type = nb::cast<std::string>(number[1]);
    std::pair<std::string, std::variant<std::uint32_t, std::int32_t, float>> entry;
    entry.first = nb::cast<std::string>(number[0]);
    if (type == "f32") {
      entry.second = static_cast<float>(nb::cast<double>(number[2]));
    } else {
      const std::int64_t value = integer_from(number[2], entry.first);
      const bool is_signed = type == "i32";
      const std::int64_t least = is_signed ? -0x80000000LL : 0, most = is_signed ? 0x7fffffffLL : 0xffffffffLL;
      if (value < least || value > most) {
        throw InvalidArgument("kernel '" + name + "': " + entry.first + " is " + std::to_string(value) +
                              ", which is no " + type);
      }
      if (is_signed)
        entry.second = static_cast<std::int32_t>(value);
      else
        entry.second = static_cast<std::uint32_t>(value);
    }
    kernel->numbers.push_back(std::move(entry));
  }
  const auto facts = std::make_shared<KernelForm>(form);
  using Types = std::span<const TensorType>;
  kernel->infer = [facts](Types in) { return facts->of(in).results; };
  if (has_workgroups) {
    kernel->workgroups = [facts](Types in, Types) { return facts->of(in).workgroups; };
  } else {
    kernel->threads = [facts](Types in, Types) { return facts->of(in).threads; };
  }
  if (!cpu.is_none()) {
    kernel->cpu = [f = program_function(cpu)](std::span<const View> in, std::span<const View> out) {
      run_on_cpu(*f, in, out);
    };
  }
  return kernel;
}

}  // namespace

void add_kernels(nb::module_& m) {
  m.def("end_kernels", end_program_functions);
  nb::class_<KernelObject>(m, "CustomKernel")
      .def(
          "__init__",
          [](KernelObject* self, const std::string& name, const std::string& wgsl, nb::handle inputs,
             nb::handle outputs, nb::handle numbers, nb::handle enables, nb::handle form, bool has_workgroups,
             nb::handle cpu) {
            new (self)
                KernelObject{make_kernel(name, wgsl, inputs, outputs, numbers, enables, form, has_workgroups, cpu)};
          },
          nb::arg("name"), nb::arg("wgsl"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("numbers"),
          nb::arg("enables"), nb::arg("form"), nb::arg("has_workgroups"), nb::arg("cpu").none())
      .def("__call__",
           [](const KernelObject& k, nb::handle operands) { return arrays(custom(k.kernel, tensors_in(operands))); })
      // Compiles the kernel alone, for operands of these types.
      .def("check", [](const KernelObject& k, nb::handle operands, const Device& device) {
        const std::vector<Tensor> given = tensors_in(operands);
        released([&] {
          Graph graph;
          std::vector<Tensor> inputs;
          for (std::size_t i = 0; i < given.size(); ++i) {
            inputs.push_back(graph.input(k.kernel->inputs[i], given[i].dtype(), given[i].shape()));
          }
          const std::vector<Tensor> results = custom(k.kernel, inputs);
          for (std::size_t i = 0; i < results.size(); ++i) graph.output(k.kernel->outputs[i], results[i]);
          compile(graph, device);
        });
      });
}

}  // namespace weft::python
