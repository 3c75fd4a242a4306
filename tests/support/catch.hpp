// Supports Catch2 2.13 (Debian 12) and Catch2 3 (Ubuntu 24.04). Include this file, not Catch2.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
