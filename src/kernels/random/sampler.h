// Inside of the family random: samplers of distributions with parameters.
#pragma once

#include "cpu/executor.h"
#include "kernels/random/random.h"

namespace weft::kernels {

struct SamplerProblem {
  enum class Form : std::uint8_t { gamma, log_gamma, poisson, binomial, geometric } form;
  View key;
  // Of one shape: the shape (gamma), mean (Poisson) or probability; the number of trials (binomial); the result.
  View a, n, y;

  bool is_gamma() const { return form == Form::gamma || form == Form::log_gamma; }
};
// Attempts of a rejection, of which each fails in less than a third of all cases.
constexpr std::uint32_t kAttempts = 64;
// The attempt whose words fill digits that f32 does not have.
constexpr std::uint32_t kFill = 254;
void sampler_cpu(cpu::Executor& executor, const SamplerProblem& problem);

// y = the derivatives of samples x, or of their logarithms, for their concentrations a; all of one shape.
void gamma_gradient_cpu(cpu::Executor& executor, const View& a, const View& x, const View& y, bool logarithm);

// Logits x with the categories along the last axis; y has the others.
struct CategoricalProblem {
  View key, x, y;
};
void categorical_cpu(cpu::Executor& executor, const CategoricalProblem& problem);

}  // namespace weft::kernels
