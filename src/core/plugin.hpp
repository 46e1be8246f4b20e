#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace spdnn {

/// Where shared objects that few runs need lie: beside the program, where it is built, or in ../lib/spdnn, where it is
/// installed.
std::vector<std::filesystem::path> plugin_folders();

/// The address of a function of the shared object at `path`, which stays open; otherwise null, and `; ` and the reason
/// are added to `why_not`. `flags` are dlopen's, besides RTLD_NOW.
void* plugin_function(const std::filesystem::path& path, const char* name, int flags, std::string& why_not);

}  // namespace spdnn
