// Kernels by their definitions, for tests alone: plain loops on one thread with sums in f64, or in integers that wrap.
// The CPU implementations of these families have several forms, all of which are compared with them.
#pragma once

#include "kernels/conv/problem.h"
#include "kernels/matmul/problem.h"
#include "kernels/pool/problem.h"
#include "kernels/rnn/recurrence.h"

namespace weft::test {

void conv_reference(const kernels::ConvProblem& problem, const Expression* epilogue);
void matmul_reference(const kernels::MatmulProblem& problem, const Expression* epilogue);
// Asks of every element of x whether a window has it.
void pool_reference(const kernels::PoolProblem& problem, const Expression* epilogue);
// Element by element, time step by time step; stored states are rounded to their types.
void recur_reference(const kernels::Recurrence& recurrence, const kernels::RnnInputs& inputs,
                     const kernels::RnnOutputs& outputs);

}  // namespace weft::test
