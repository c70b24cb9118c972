// The Web Neural Network API, natively: graphs built by its operations, compiled once and dispatched on device tensors,
// as the W3C's specification has it. docs/webnn.md is the guide, and names each place where Weft does otherwise.
// Source: Web Neural Network API, W3C, editor's draft of 2026-06-27 (commit c515210 of webmachinelearning/webnn), and
// the MLTensor explainer for what is exported to WebGPU.
#pragma once

#include "weft/webnn/builder.h"
#include "weft/webnn/context.h"
#include "weft/webnn/error.h"
#include "weft/webnn/schema.h"
