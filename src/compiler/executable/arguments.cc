// What a run is given: tensors and numbers are bound to the ports of the graph, and checked.
#include "compiler/executable/impl.h"

#include <ranges>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/nearest.h"
#include "weft/error.h"

namespace weft {

using compiler::Port;
using compiler::Storage;

const Port& Executable::Impl::port_at(std::size_t port) const {
  const std::size_t inputs = schedule_.inputs.size();
  return port < inputs ? schedule_.inputs[port] : schedule_.outputs[port - inputs];
}

std::string Executable::Impl::port_text(std::size_t port) const {
  const std::size_t inputs = schedule_.inputs.size();
  if (port < inputs && port + schedule_.captured >= inputs) return "a tensor that the graph reads";
  return std::format("{} {}", port < inputs ? "input" : "output", in_quotes(port_at(port).name));
}

int Executable::Impl::port(const Storage& storage) const {
  if (storage.donor >= 0) return port(schedule_.storages[storage.donor]);
  if (storage.kind == Storage::Kind::input) return storage.index;
  if (storage.kind == Storage::Kind::output) return static_cast<int>(schedule_.inputs.size()) + storage.index;
  return -1;
}

void Executable::Impl::bind(Run& run, std::size_t port, const Tensor& tensor) const {
  if (!tensor.defined()) throw InvalidArgument("run: {} is an undefined Tensor", port_text(port));
  const DeviceData* const data = find_data(tensor);
  if (!data) {
    throw InvalidArgument("run: {} is {} without data, which is {}", port_text(port), to_string(tensor.type()),
                          find_data(stored_by(tensor)) ? "a view: contiguous() copies it" : "still to be computed");
  }
  bind(run, port, *data);
}

void Executable::Impl::bind(Run& run, std::size_t port, const DeviceData& data) const {
  const TensorType& expected = port_at(port).type;
  if (run.bound[port]) throw InvalidArgument("run: {} is given twice", port_text(port));
  if (data.view().dtype != expected.dtype || data.view().shape() != expected.shape) {
    throw InvalidArgument("run: {} is {}, expected {}", port_text(port), to_string(data.view()), to_string(expected));
  }
  if (data.device() != device) {
    const std::string name = data.device().name();
    throw InvalidArgument("run: {} is on {}, the graph was compiled for {}{}", port_text(port), name, device.name(),
                          name == device.name() ? " (another device)" : "");
  }
  run.bound[port] = &data;
}

// After the lock was released in between.
void Executable::Impl::check_devices(const Run& run) const {
  for (std::size_t p = 0; p < run.bound.size(); ++p) {
    if (run.bound[p]->device() == device) continue;
    throw InvalidArgument("run: {} is on {}, which the graph has left for {}", port_text(p),
                          run.bound[p]->device().name(), device.name());
  }
}

void Executable::Impl::bind(Run& run, std::span<const NamedTensor> given, const Side& side) const {
  for (const NamedTensor& t : given) {
    const auto it = side.names.find(t.name);
    if (it == side.names.end()) {
      std::vector<std::string_view> names;
      for (std::size_t p = side.first; p < side.first + side.count; ++p) names.push_back(port_at(p).name);
      throw InvalidArgument("run: the graph has no {} {}{}", side.what, in_quotes(t.name),
                            names_there_are(t.name, names));
    }
    bind(run, it->second, t.tensor);
  }
}

void Executable::Impl::check_count(std::size_t given, const Side& side) const {
  if (given != side.count) throw InvalidArgument("run: {} {}s, the graph has {}", given, side.what, side.count);
}

void Executable::Impl::bind(Run& run, std::span<const Tensor> given, const Side& side) const {
  check_count(given.size(), side);
  for (std::size_t i = 0; i < given.size(); ++i) bind(run, side.first + i, given[i]);
}

void Executable::Impl::bind(Run& run, std::span<const DeviceData* const> given, const Side& side) const {
  check_count(given.size(), side);
  for (std::size_t i = 0; i < given.size(); ++i) bind(run, side.first + i, *given[i]);
}

void Executable::Impl::set_number(Run& run, std::size_t number, const Number& value) const {
  const Port& port = schedule_.numbers[number];
  if (run.number_given[number]) throw InvalidArgument("run: number {} is given twice", in_quotes(port.name));
  run.number_given[number] = 1;
  run.numbers[number] = value.bits(port.type.dtype);
}

void Executable::Impl::set_numbers(Run& run, std::span<const NamedNumber> given) const {
  for (const NamedNumber& n : given) {
    const auto it = number_names_.find(n.name);
    if (it == number_names_.end()) {
      std::vector<std::string_view> names;
      for (const Port& port : schedule_.numbers) names.push_back(port.name);
      throw InvalidArgument("run: the graph has no number {}{}", in_quotes(n.name), names_there_are(n.name, names));
    }
    set_number(run, it->second, n.value);
  }
  const auto missing = std::ranges::find(run.number_given, 0);
  if (missing == run.number_given.end()) return;
  const Port& port = schedule_.numbers[static_cast<std::size_t>(missing - run.number_given.begin())];
  throw InvalidArgument("run: number {} ({}) is missing", in_quotes(port.name), name(port.type.dtype));
}

void Executable::Impl::set_numbers(Run& run, std::span<const Number> given) const {
  if (given.size() != schedule_.numbers.size()) {
    throw InvalidArgument("run: {} numbers, the graph has {}", given.size(), schedule_.numbers.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) set_number(run, i, given[i]);
}

void Executable::Impl::check_all_bound(const Run& run) const {
  const auto& bound = run.bound;
  for (std::size_t p = 0; p < bound.size(); ++p) {
    if (!bound[p]) throw InvalidArgument("run: {} ({}) is missing", port_text(p), to_string(port_at(p).type));
  }
  for (const auto& [output, input] : donors_) {
    const View &given = bound[output]->view(), &donated = bound[input]->view();
    if (given.buffer == donated.buffer && given.offset == donated.offset) continue;
    throw InvalidArgument("run: {} is another tensor than {}, whose memory was donated for it; give the same for both",
                          port_text(output), port_text(input));
  }
  // By buffer, inputs first: an output is refused if another port is in the same buffer, unless that was donated for
  // it.
  struct Bound {
    const void* buffer;
    std::size_t port;
    auto operator<=>(const Bound&) const = default;
  };
  InlineList<Bound, 16> by_buffer;
  for (std::size_t p = 0; p < bound.size(); ++p) by_buffer.push_back({bound[p]->view().buffer.identity(), p});
  std::ranges::sort(by_buffer);
  const auto donor = [&](std::size_t port) {
    const auto it = std::ranges::lower_bound(donors_, port, {}, &std::pair<std::size_t, std::size_t>::first);
    return it != donors_.end() && it->first == port ? std::optional(it->second) : std::nullopt;
  };
  for (std::size_t i = 1; i < by_buffer.size(); ++i) {
    const auto [buffer, port] = by_buffer[i];
    const auto [buffer_before, before] = by_buffer[i - 1];
    if (buffer != buffer_before || port < schedule_.inputs.size()) continue;
    const bool alone = i < 2 || by_buffer[i - 2].buffer != buffer;
    const auto donated = donor(port);
    if (donated && alone) continue;  // it was compared above
    const std::size_t other = donated == before ? by_buffer[i - 2].port : before;
    throw InvalidArgument("run: {} lies in the same buffer as {}; give it its own", port_text(port), port_text(other));
  }
}

Executable::Impl::Run Executable::Impl::new_run() const {
  const std::size_t numbers = schedule_.numbers.size();
  return {{schedule_.inputs.size() + schedule_.outputs.size(), nullptr}, {numbers, 0}, {numbers, 0}};
}

}  // namespace weft
