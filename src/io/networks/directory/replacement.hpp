#pragma once

#include <optional>
#include <set>
#include <string>

#include "io/files/output_target.hpp"
#include "io/files/temporaries.hpp"
#include "io/networks/directory/manifest.hpp"

namespace spdnn {

/// Makes a directory hold one network, whole or not at all. The files are written into a temporary directory; commit()
/// puts them in place together with their manifest:
///
///   target                                                   temporary directory     put in place by
///   does not exist                                           beside the target       renaming it
///   holds files of one network and nothing else              beside the target       exchanging it with the target
///   is empty, or the current directory; holds other files;   inside of the target    renaming the files
///   cannot be exchanged (mount point, rights, attributes)
///
/// Only the last case takes more than one step: the manifest says `incomplete` before the first file is renamed, and is
/// replaced last. If the writer is killed in between, readers refuse the directory. Writers of the same directory wait
/// for one another (flock), and the last one wins.
///
/// Files listed in the old manifest are removed or replaced. Any other layer file is refused (DataError), because it
/// would be read as part of the network.
class NetworkDirectory {
 public:
  /// `names` lists the files that will be written.
  NetworkDirectory(const Path& directory, std::set<std::string> names);
  /// The directory into which to write the files.
  const Path& path() const { return staging_->path(); }
  /// Puts all files in place. Those listed in the manifest must have been written and synced.
  void commit(const NetworkManifest& manifest);

 private:
  struct Contents;
  Contents survey() const;
  void stage();
  bool stage_beside();
  bool is_beside() const { return path().parent_path() == target_.path.parent_path(); }
  void stage_inside();
  bool move_into_gap();
  void replace(const NetworkManifest& manifest);
  bool exchange(const Contents& contents);
  void remove_old(const Contents& contents);
  void replace_inside(const Contents& contents, const NetworkManifest& manifest);
  void write_manifest(const Path& directory, const NetworkManifest& manifest) const;
  void keep_attributes() const;
  [[noreturn]] void fail() const;

  Path directory_;  ///< as the caller named it, for messages
  OutputTarget target_;
  std::set<std::string> names_;
  std::optional<Temporary> staging_;
};

}  // namespace spdnn
