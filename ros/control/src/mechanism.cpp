// The class without ROS, see its header: what it is made of, and what it is told.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "library.hpp"

namespace cutjoint_control
{
namespace
{

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

void keep(void * host, const char * message) {*static_cast<std::string *>(host) = message;}

}  // namespace

void check_known(const Parameters & parameters, const std::vector<std::string> & known, const std::string & whose)
{
  std::string names;
  for (const auto & each : known) {
    names += (names.empty() ? "" : ", ") + each;
  }
  for (const auto & each : parameters) {
    if (std::find(known.begin(), known.end(), each.first) == known.end()) {
      throw mistake(whose + " has no parameter '" + each.first + "'; there is " + (names.empty() ? "none" : names));
    }
  }
}

int Order::named(const std::string & name)
{
  static const char * const names[] = {"effort", "position", "velocity", "acceleration"};
  int k = 0;
  while (k < count && name != names[k]) {
    ++k;
  }
  return k;
}

Mechanism::Mechanism(const Parameters & parameters)
: parameters_(parameters)
{
  check_known(parameters, {"library", "mode", "step", "gravity", "start", "hold", "frequency"}, "the hardware");
  const std::string path = given(parameters, "library", "");
  if (path.empty()) {
    throw mistake("say which mechanism: <param name=\"library\">FILE.so</param>");
  }
  library_ = std::make_unique<Library>(path);
  step_ = number(given(parameters, "step", "0"), "step");
  const std::string frequency = given(parameters, "frequency", "");
  frequency_ = frequency.empty() ? library_->frequency_() : number(frequency, "frequency");
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
    const std::string role = items[k].role;
    driven_.push_back(items[k].joint < 0 ? joints_.size() : static_cast<std::size_t>(items[k].joint));
    takes_.push_back(
      role == "position" ? Order::position :
      role == "speed" || role == "velocity" ? Order::velocity : Order::effort);
    if (takes_.back() != Order::effort && driven_.back() < joints_.size()) {
      servo_[driven_.back()] = true;
    }
  }
  for (auto * each : {&inputs_, &held_}) {
    each->assign(n, 0.0);
  }
  for (auto * each : {&fields_, &told_, &order_}) {
    each->assign(Order::count * n, 0.0);
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

std::vector<Told> Mechanism::switched(
  const std::vector<std::string> & stops, const std::vector<std::string> & starts) const
{
  std::vector<Told> told, begun(joints_.size());
  for (const auto & each : joints_) {
    told.push_back(each.told);
  }
  const auto mark = [&](std::vector<Told> & in, const std::vector<std::string> & keys, bool value) {
      for (const auto & key : keys) {
        const auto slash = key.rfind('/');
        const int order = slash == std::string::npos ? Order::count : Order::named(key.substr(slash + 1));
        for (std::size_t k = 0; order < Order::count && k < joints_.size(); ++k) {
          in[k][order] = joints_[k].name == key.substr(0, slash) ? value : in[k][order];
        }
      }
    };
  mark(told, stops, false);
  mark(told, starts, true);
  mark(begun, starts, true);
  const auto torn = [](const Told & each) {
      return each[Order::effort] && (each[Order::position] || each[Order::velocity]);
    };
  for (std::size_t k = 0; k < told.size(); ++k) {
    for (int order = 0; torn(told[k]) && order < Order::count; ++order) {
      // a controller that ended while the hardware was down did not give back; it has said nothing since
      const bool gone = joints_[k].before[order] && std::isnan(joints_[k].command[order]);
      told[k][order] = told[k][order] && (begun[k][order] || !gone);
    }
    if (torn(told[k])) {
      throw mistake("joint '" + joints_[k].name + "' can't follow a motion and obey an effort at once");
    }
  }
  return told;
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
  refused_.clear();
  debt_ = 0;
  last_ = {};
  for (auto & each : joints_) {
    each.before = each.told;  // what controllers take stays theirs: they command anew
    each.command.fill(NAN);
  }
  read();
  for (std::size_t k = 0; k < driven_.size(); ++k) {
    held_[k] = driven_[k] < joints_.size() ? joints_[driven_[k]].position : 0.0;
  }
  heard_ = time();
  hold_still(order_);
}

namespace
{

const char * const axes[] = {"x", "y", "z"};

}  // namespace

Sensor & Mechanism::add_sensor(const std::string & name, const Parameters & parameters)
{
  auto sensor = std::make_unique<Sensor>();
  sensor->name = name;
  const std::string body = given(parameters, "body", ""), joint = given(parameters, "joint", "");
  const std::string option = body.empty() ? "--wrench " + joint : "--output 'body." + body + ".*'";
  const auto show = [&](const std::string & reading, const std::string & output) {
      const std::size_t at = find(CUTJOINT_OUTPUT, output);
      if (at == library_->count_(CUTJOINT_OUTPUT)) {
        throw mistake(
                "sensor '" + name + "': the library has no output '" + output +
                "'; make it with 'cutjoint realtime " + option + "'");
      }
      sensor->readings.push_back({reading, at, 0.0});
    };
  check_known(parameters, {"body", "joint"}, "sensor '" + name + "'");
  if (body.empty() == joint.empty()) {
    throw mistake("sensor '" + name + "' needs a parameter 'body' for its pose or 'joint' for its wrench");
  }
  const std::string stem = body.empty() ? "sensor." + joint + "_wrench" : "body." + body;
  for (int k = 0; k < 3; ++k) {
    const std::string place = "[" + std::to_string(k + 1) + "]";
    show(std::string(body.empty() ? "force." : "position.") + axes[k], stem + (body.empty() ? ".force" : ".position") + place);
  }
  for (int k = 0; k < 3; ++k) {  // Euler parameters come as w, x, y, z
    const std::string place = "[" + std::to_string(body.empty() ? k + 1 : k + 2) + "]";
    show(std::string(body.empty() ? "torque." : "orientation.") + axes[k], stem + (body.empty() ? ".torque" : ".orientation") + place);
  }
  if (!body.empty()) {
    show("orientation.w", stem + ".orientation[1]");
  }
  sensors_.push_back(std::move(sensor));
  return *sensors_.back();
}

}  // namespace cutjoint_control
