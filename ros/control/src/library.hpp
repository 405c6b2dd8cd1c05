// The native library of a mechanism, and how mistakes are said.
#ifndef LIBRARY_HPP_
#define LIBRARY_HPP_

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "cutjoint_control/mechanism.hpp"

namespace cutjoint_control
{

inline std::runtime_error mistake(const std::string & text) {return std::runtime_error("cutjoint: " + text);}

/// The functions of native.h, found in a shared library by their names.
struct Mechanism::Library
{
  void * handle;
#define EACH(with) \
  with(native) with(count) with(items) with(new) with(free) with(set) with(begin) with(reset) with(drive) \
  with(step) with(time) with(outputs) with(joints) with(accelerations) with(order_of_fields) with(check_order) with(relax_order) \
  with(timeout) with(frequency) with(longest_hold) with(follow_order)
#define DECLARE(name) decltype(&cutjoint_##name) name##_;
  EACH(DECLARE)

  explicit Library(const std::string & path)
  : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
  {
    if (handle == nullptr) {
      const char * why = dlerror();
      throw mistake(
              "the library '" + path + "' can't be loaded (" + (why != nullptr ? why : "no reason given") +
              "); 'cutjoint realtime NAME -o FOLDER' makes it");
    }
#define FIND(name) \
  name##_ = reinterpret_cast<decltype(name##_)>(dlsym(handle, "cutjoint_" #name)); \
  missing = missing || name##_ == nullptr;
    bool missing = false;
    EACH(FIND)
    if (missing || native_() != CUTJOINT_NATIVE) {
      dlclose(handle);
      throw mistake("'" + path + "' is no library of this version; make it again with 'cutjoint realtime'");
    }
  }
  ~Library() {dlclose(handle);}
#undef EACH
#undef DECLARE
#undef FIND
};

}  // namespace cutjoint_control

#endif  // LIBRARY_HPP_
