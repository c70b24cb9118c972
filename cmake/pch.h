// The headers that are heavy and everywhere.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <algorithm>
#include <array>
#include <format>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>
