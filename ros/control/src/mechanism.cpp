// The class without ROS: see its header.
#include "cutjoint_control/mechanism.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace cutjoint_control
{
namespace
{

std::runtime_error mistake(const std::string & text) {return std::runtime_error("cutjoint: " + text);}

double number(const std::string & text, const std::string & name)
{
  std::size_t end = 0;
  double value = NAN;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception &) {
  }
  if (end != text.size() || !std::isfinite(value)) {
    throw mistake("parameter '" + name + "': '" + text + "' is not a finite number");
  }
  return value;
}

std::string given(const Parameters & parameters, const std::string & name, const std::string & otherwise)
{
  const auto found = parameters.find(name);
  return found == parameters.end() || found->second.empty() ? otherwise : found->second;
}

long long steady()
{
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

void keep(void * host, const char * message) {*static_cast<std::string *>(host) = message;}

}  // namespace

/// The functions of native.h, found in a shared library by their names.
struct Mechanism::Library
{
  void * handle;
#define EACH(with) \
  with(native) with(count) with(items) with(new) with(free) with(set) with(begin) with(reset) with(drive) \
  with(step) with(time) with(outputs) with(joints) with(accelerations) with(servo)
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

Mechanism::Mechanism(const Parameters & parameters)
: parameters_(parameters)
{
  const std::string path = given(parameters, "library", "");
  if (path.empty()) {
    throw mistake("say which mechanism: <param name=\"library\">FILE.so</param>");
  }
  library_ = std::make_unique<Library>(path);
  step_ = number(given(parameters, "step", "0"), "step");
  frequency_ = number(given(parameters, "frequency", "20"), "frequency");
  const std::string mode = given(parameters, "mode", "lock_step"), hold = given(parameters, "hold", "true");
  if (step_ < 0 || frequency_ <= 0) {
    throw mistake("parameter 'step' must not be negative, and 'frequency' positive");
  }
  if (mode != "lock_step" && mode != "real_time") {
    throw mistake("parameter 'mode' is lock_step or real_time, not '" + mode + "'");
  }
  if (hold != "true" && hold != "false") {
    throw mistake("parameter 'hold' is true or false, not '" + hold + "'");
  }
  real_time_ = mode == "real_time";
  hold_ = hold == "true";
  owned_ = {library_->new_(keep, &said_), library_->free_};
  mechanism_ = owned_.get();
  if (mechanism_ == nullptr) {
    throw mistake("not enough memory");
  }
  const cutjoint_item * items = library_->items_(CUTJOINT_JOINT);
  joints_.resize(library_->count_(CUTJOINT_JOINT));
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    joints_[k].name = items[k].name;
    joints_[k].input = items[k].joint;
  }
  choose_inputs();
  reset();
}

Mechanism::~Mechanism() = default;

void Mechanism::choose_inputs()
{
  const std::size_t n = library_->count_(CUTJOINT_INPUT);
  const cutjoint_item * items = library_->items_(CUTJOINT_INPUT);
  servo_.assign(joints_.size(), false);
  for (std::size_t k = 0; k < n; ++k) {
    const std::string unit = items[k].unit;
    driven_.push_back(static_cast<std::size_t>(items[k].joint));
    takes_.push_back(
      unit == "rad" || unit == "m" ? Order::position :
      unit == "rad/s" || unit == "m/s" ? Order::velocity : Order::effort);
    if (takes_.back() != Order::effort) {
      servo_[driven_.back()] = true;
    }
  }
  for (auto * each : {&given_, &wanted_, &follows_, &inputs_, &held_}) {
    each->assign(n, 0.0);
  }
}

std::size_t Mechanism::find(cutjoint_kind kind, const std::string & name) const
{
  const std::size_t n = library_->count_(kind);
  std::size_t k = 0;
  while (k < n && name != library_->items_(kind)[k].name) {
    ++k;
  }
  return k;
}

Joint & Mechanism::joint(const std::string & name)
{
  for (auto & each : joints_) {
    if (each.name == name) {
      return each;
    }
  }
  throw mistake("the mechanism has no joint '" + name + "'; 'cutjoint node NAME --urdf --ros2-control' names all");
}

void Mechanism::set_start(const std::string & words)
{
  std::istringstream stream(words);
  for (std::string word; stream >> word; ) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw mistake("parameter 'start' takes JOINT=VALUE with spaces between, not '" + word + "'");
    }
    const std::string name = word.substr(0, equals);
    const std::size_t n = library_->count_(CUTJOINT_START);
    std::size_t at = find(CUTJOINT_START, name);
    at = at < n ? at : find(CUTJOINT_START, name + ".position");
    if (at == n) {
      throw mistake("parameter 'start': there is no joint '" + name + "'");
    }
    if (library_->set_(mechanism_, CUTJOINT_START, at, number(word.substr(equals + 1), "start " + name)) != 0) {
      throw mistake("parameter 'start': " + said_);
    }
  }
}

void Mechanism::set_gravity(const std::string & numbers)
{
  std::vector<double> g;
  std::istringstream stream(numbers);
  for (std::string part; std::getline(stream, part, ','); ) {
    g.push_back(number(part, "gravity"));
  }
  if (g.size() == 1) {
    g = {0, 0, -g[0]};
  }
  if (g.size() != 3) {
    throw mistake("parameter 'gravity' takes one number g for (0, 0, -g), or three with commas");
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t at = find(CUTJOINT_PARAMETER, "gravity[" + std::to_string(k + 1) + "]");
    if (at == library_->count_(CUTJOINT_PARAMETER)) {
      throw mistake("this library's gravity can't be changed; make it with 'cutjoint realtime --parameter gravity'");
    }
    if (library_->set_(mechanism_, CUTJOINT_PARAMETER, at, g[k]) != 0) {
      throw mistake("parameter 'gravity': " + said_);
    }
  }
}

void Mechanism::reset()
{
  library_->reset_(mechanism_);
  const std::string gravity = given(parameters_, "gravity", "");
  if (!gravity.empty()) {
    set_gravity(gravity);
  }
  set_start(given(parameters_, "start", ""));
  if (library_->begin_(mechanism_) != 0) {
    throw mistake(said_);
  }
  fault_.clear();
  debt_ = 0;
  last_ = 0;
  for (auto & each : joints_) {
    each.order = Order::none;
    for (double & x : each.command) {
      x = NAN;
    }
  }
  read();
  for (std::size_t k = 0; k < driven_.size(); ++k) {
    held_[k] = joints_[driven_[k]].position;
  }
}

namespace
{

const char * const axes[] = {"x", "y", "z"};

}  // namespace

Sensor & Mechanism::add_sensor(const std::string & name, const Parameters & parameters)
{
  auto sensor = std::make_unique<Sensor>();
  sensor->name = name;
  const auto show = [&](const std::string & reading, const std::string & output) {
      const std::size_t at = find(CUTJOINT_OUTPUT, output);
      if (at == library_->count_(CUTJOINT_OUTPUT)) {
        throw mistake(
                "sensor '" + name + "': the library has no output '" + output +
                "'; make it with 'cutjoint realtime --output NAME'");
      }
      sensor->readings.push_back({reading, at, 0.0});
    };
  const std::string body = given(parameters, "body", ""), joint = given(parameters, "joint", "");
  if (body.empty() == joint.empty()) {
    throw mistake("sensor '" + name + "' needs a parameter 'body' for its pose or 'joint' for its wrench");
  }
  const std::string stem = body.empty() ? "reaction." + joint : "body." + body;
  for (int k = 0; k < 3; ++k) {
    const std::string place = "[" + std::to_string(k + 1) + "]";
    show(std::string(body.empty() ? "force." : "position.") + axes[k], stem + (body.empty() ? ".force" : ".position") + place);
  }
  for (int k = 0; k < 3; ++k) {  // Euler parameters come as w, x, y, z
    const std::string place = "[" + std::to_string(body.empty() ? k + 1 : k + 2) + "]";
    show(std::string(body.empty() ? "torque." : "orientation.") + axes[k], stem + (body.empty() ? ".moment" : ".orientation") + place);
  }
  if (!body.empty()) {
    show("orientation.w", stem + ".orientation[1]");
  }
  sensors_.push_back(std::move(sensor));
  return *sensors_.back();
}

double Mechanism::time() const {return library_->time_(mechanism_);}

void Mechanism::read()
{
  const std::size_t n = joints_.size();
  const double * values = library_->joints_(mechanism_);
  for (std::size_t k = 0; k < n; ++k) {
    joints_[k].position = values[k];
    joints_[k].velocity = values[n + k];
    joints_[k].effort = values[2 * n + k];
  }
  values = library_->accelerations_(mechanism_);
  for (std::size_t k = 0; k < n; ++k) {
    joints_[k].acceleration = values[k];
  }
  if (sensors_.empty()) {
    return;
  }
  values = library_->outputs_(mechanism_);
  for (auto & sensor : sensors_) {
    for (auto & each : sensor->readings) {
      each.value = values[each.output];
    }
  }
}

bool Mechanism::write(double period)
{
  if (!fault_.empty()) {
    return false;
  }
  const long long now = real_time_ ? steady() : 0;
  if (real_time_) {
    period = last_ != 0 ? static_cast<double>(now - last_) * 1e-9 : period;
    last_ = now;
  }
  debt_ += period;
  const double h = step_ > 0 ? step_ : period;
  if (!(h > 0)) {
    return true;
  }
  while (debt_ > 0.5 * h) {
    bool servo = false;
    const double * values = library_->joints_(mechanism_);
    const std::size_t n = joints_.size();
    for (std::size_t k = 0; k < driven_.size(); ++k) {
      const Joint & joint = joints_[driven_[k]];
      const double q = values[driven_[k]], v = values[n + driven_[k]];
      const double told = joint.command[static_cast<int>(joint.order)];
      given_[k] = wanted_[k] = 0;
      follows_[k] = 1;
      if (servo_[driven_[k]]) {  // it follows by itself: its inputs are passed on
        const double passed = joint.command[static_cast<int>(takes_[k])];
        given_[k] = std::isfinite(passed) ? passed : takes_[k] == Order::position ? held_[k] : 0;
        follows_[k] = 0;
      } else if (joint.order == Order::position && std::isfinite(told)) {
        wanted_[k] = frequency_ * frequency_ * (told - q) - 2 * frequency_ * v;
      } else if (joint.order == Order::velocity && std::isfinite(told)) {
        wanted_[k] = 2 * frequency_ * (told - v);
      } else if (joint.order == Order::effort && std::isfinite(told)) {
        given_[k] = told;
        follows_[k] = 0;
      } else if (hold_) {  // nobody has told it anything yet
        wanted_[k] = frequency_ * frequency_ * (held_[k] - q) - 2 * frequency_ * v;
      } else {
        follows_[k] = 0;
      }
      const cutjoint_item & input = library_->items_(CUTJOINT_INPUT)[k];
      if (!(std::abs(given_[k]) <= input.range)) {
        given_[k] = 0;  // no drive gives that: an error of the controller's
      }
      servo = servo || follows_[k] > 0;
      inputs_[k] = given_[k];
    }
    if (servo && library_->servo_(mechanism_, given_.data(), wanted_.data(), follows_.data(), inputs_.data()) != 0) {
      fault_ = "the driven joints can't follow at this pose";
      return false;
    }
    if (library_->drive_(mechanism_, inputs_.data()) != 0 || library_->step_(mechanism_, h) != 0) {
      fault_ = said_.empty() ? "the mechanism can't go on" : said_;
      return false;
    }
    debt_ -= h;
  }
  return true;
}

}  // namespace cutjoint_control
