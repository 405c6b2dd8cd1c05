// How the class moves: what it hears, shows and follows.
#include <chrono>
#include <cmath>

#include "library.hpp"

namespace cutjoint_control
{
namespace
{

long long steady()
{
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

void Mechanism::hear(const std::vector<Told> & told)
{
  read();
  for (std::size_t k = 0; k < driven_.size(); ++k) {
    if (driven_[k] == joints_.size()) {
      continue;  // a wrench, which is no joint's
    }
    const Joint & joint = joints_[driven_[k]];
    const double last = joint.command[Order::position];
    bool freed = false;
    for (int order = 0; order < Order::count; ++order) {
      freed = freed || (joint.told[order] && !told[driven_[k]][order]);
    }
    if (freed) {  // a servo of its own droops under load: it keeps what it was told, not where that took it
      held_[k] = !servo_[driven_[k]] ? joint.position : std::isfinite(last) ? last : held_[k];
    }
  }
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    for (int order = 0; order < Order::count; ++order) {
      if (joints_[k].told[order] && !told[k][order]) {
        joints_[k].command[order] = NAN;  // whoever takes it next does not start from an old order
      }
    }
    joints_[k].told = told[k];
  }
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
  // a manager that stalled comes with a long period: nothing follows stably by forces held that long
  const double h = step_ > 0 ? step_ : period / std::ceil(period * 4 * frequency_);
  if (!(h > 0)) {
    return true;
  }
  while (debt_ > 0.5 * h) {
    bool servo = false;
    const double * values = library_->joints_(mechanism_);
    const std::size_t n = joints_.size();
    for (std::size_t k = 0; k < driven_.size(); ++k) {
      if (driven_[k] == joints_.size()) {
        continue;
      }
      const Joint & joint = joints_[driven_[k]];
      const double q = values[driven_[k]], v = values[n + driven_[k]];
      const auto told = [&joint](int order) {return joint.told[order] ? joint.command[order] : NAN;};
      const double place = told(Order::position), speed = told(Order::velocity), more = told(Order::acceleration);
      given_[k] = wanted_[k] = 0;
      follows_[k] = 1;
      if (servo_[driven_[k]]) {  // it follows by itself: its inputs are passed on
        const double passed = joint.command[takes_[k]];
        given_[k] = std::isfinite(passed) ? passed : takes_[k] == Order::position ? held_[k] : 0;
        follows_[k] = 0;
      } else if (std::isfinite(place) || std::isfinite(speed)) {
        wanted_[k] = (std::isfinite(more) ? more : 0) + 2 * frequency_ * ((std::isfinite(speed) ? speed : 0) - v);
        wanted_[k] += std::isfinite(place) ? frequency_ * frequency_ * (place - q) : 0;
      } else if (std::isfinite(told(Order::effort))) {
        given_[k] = told(Order::effort);
        follows_[k] = 0;
      } else if (hold_) {  // nobody tells it anything
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
