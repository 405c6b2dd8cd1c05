// How the class moves: what it hears, shows and follows.
#include <chrono>
#include <cmath>
#include <sstream>

#include "library.hpp"

namespace cutjoint_control
{
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
    if (joints_[k].told != told[k]) {
      joints_[k].before.fill(false);
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

void Mechanism::hold_still(std::vector<double> & order) const
{
  const std::size_t n = driven_.size();
  order.assign(Order::count * n, 0.0);
  for (std::size_t k = 0; k < n && hold_; ++k) {
    if (driven_[k] < joints_.size() && (takes_[k] == Order::position || !servo_[driven_[k]])) {
      order[k] = CUTJOINT_TO_POSITION;
      order[n + k] = held_[k];
    }
  }
}

void Mechanism::listen()
{
  const std::size_t n = driven_.size();
  hold_still(told_);
  for (std::size_t k = 0; k < n; ++k) {
    for (int order = 0; order < Order::count; ++order) {
      fields_[order * n + k] = NAN;
      if (driven_[k] == joints_.size()) {
        continue;  // a wrench, which is no joint's
      }
      const Joint & joint = joints_[driven_[k]];  // a servo takes a motion, and an effort where it has an input for it
      const bool fits = !servo_[driven_[k]] || (order == Order::effort) == (takes_[k] == Order::effort);
      fields_[order * n + k] = joint.told[order] && fits ? joint.command[order] : NAN;
    }
  }
  library_->order_of_fields_(mechanism_, fields_.data(), told_.data());
  int saturated = 0;
  const std::size_t wrong = library_->check_order_(mechanism_, told_.data(), nullptr, &saturated);
  if (wrong == 0) {
    order_ = told_;
    heard_ = time();
    refused_.clear();
  } else if (refused_.empty()) {  // an error of the controller's: said once
    refuse(wrong - 1);
  }
  library_->relax_order_(mechanism_, time() - heard_, library_->timeout_(), 0, order_.data());
}

void Mechanism::refuse(std::size_t input)
{
  const std::size_t n = driven_.size();
  const char * const told = told_[input] == CUTJOINT_FORCE ? "effort" : told_[input] == CUTJOINT_TO_POSITION ? "position" : "velocity";
  std::ostringstream text;
  text << "joint '" << (driven_[input] < joints_.size() ? joints_[driven_[input]].name : "") << "' is told the " << told << " "
       << told_[n + input] << ", which no drive can do: all orders are refused; the last ones stay, and after "
       << library_->timeout_() << " s forces and velocities vanish";
  refused_ = text.str();
}

bool Mechanism::write(double period)
{
  if (!fault_.empty()) {
    return false;
  }
  const auto now = real_time_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  if (real_time_) {
    const bool first = last_ == std::chrono::steady_clock::time_point();
    period = first ? period : std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  debt_ += period;
  // a manager that stalled comes with a long period: nothing follows stably by forces held that long
  const double h = step_ > 0 ? step_ : period / std::ceil(period / library_->longest_hold_(frequency_));
  if (!(h > 0)) {
    return true;
  }
  listen();
  said_.clear();
  while (debt_ > 0.5 * h) {
    library_->follow_order_(mechanism_, order_.data(), frequency_, inputs_.data());
    if (library_->drive_(mechanism_, inputs_.data()) != 0 || library_->step_(mechanism_, h) != 0) {
      fault_ = said_.empty() ? "the mechanism can't go on" : said_;
      return false;
    }
    debt_ -= h;
  }
  return true;
}

}  // namespace cutjoint_control
