// A mechanism behind the values that ros2_control reads and writes; knows no ROS.
//
// It loads the native library that `cutjoint realtime` makes (native.h). Every joint of the URDF, driven, passive or
// cut, has position, velocity, effort and acceleration; driven ones take an effort, or a position and its derivatives
// that they are made to follow (model/control/command_law.py). Mistakes are thrown as one sentence.
#ifndef CUTJOINT_CONTROL__MECHANISM_HPP_
#define CUTJOINT_CONTROL__MECHANISM_HPP_

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cutjoint_control/native.h"

namespace cutjoint_control
{

/// What a driven joint can be told: the command interfaces.
struct Order
{
  enum { effort, position, velocity, acceleration, count };
  static int named(const std::string & name);
};
using Told = std::array<bool, Order::count>;

struct Joint
{
  std::string name;
  int input = -1;  // that drives it
  double position = 0, velocity = 0, effort = 0, acceleration = 0;
  Told told{}, before{};  // what a controller commands, and did before the last reset; the rest is not heard
  std::array<double, Order::count> command{};  // NaN says nothing
};

/// A number that a sensor shows: an output of the library.
struct Reading
{
  std::string name;  // such as position.x
  std::size_t output = 0;
  double value = 0;
};

struct Sensor
{
  std::string name;
  std::vector<Reading> readings;
};

/// Parameters of `<hardware>` or of a sensor, by name.
using Parameters = std::map<std::string, std::string>;
/// Throws a sentence if there is one that nobody reads.
void check_known(const Parameters & parameters, const std::vector<std::string> & known, const std::string & whose);

class Mechanism
{
public:
  /// Parameters: library (needed), step, gravity, start, hold, mode, frequency; see docs/hil.md.
  explicit Mechanism(const Parameters & parameters);
  ~Mechanism();
  Mechanism(const Mechanism &) = delete;
  Mechanism & operator=(const Mechanism &) = delete;

  /// Joints in the library's order; their addresses stay.
  std::vector<Joint> & joints() {return joints_;}
  Joint & joint(const std::string & name);
  /// A pose ("body") or a wrench ("joint") by the sensor's parameters.
  Sensor & add_sensor(const std::string & name, const Parameters & parameters);

  /// What each joint is told when controllers give back and take commands, each named "JOINT/INTERFACE".
  std::vector<Told> switched(const std::vector<std::string> & stops, const std::vector<std::string> & starts) const;
  /// Hear only these from now on; what is told nothing stays where it is if `hold`.
  void hear(const std::vector<Told> & told);
  /// To the start pose, at rest as described; held until the first command if `hold`. Who commands what stays.
  void reset();
  /// Fill the values of joints and sensors.
  void read();
  /// Obey the commands for `period` seconds; false where time stands still because the mechanism can't go on.
  bool write(double period);

  double time() const;
  /// Why time stands still, empty if it does not.
  const std::string & fault() const {return fault_;}
  /// Why the present commands are not obeyed, empty if they are.
  const std::string & refused() const {return refused_;}

private:
  struct Library;
  void choose_inputs();
  void hold_still(std::vector<double> & order) const;
  void listen();
  void refuse(std::size_t input);
  void set_start(const std::string & words);
  void set_gravity(const std::string & numbers);
  std::size_t find(cutjoint_kind kind, const std::string & name) const;

  std::unique_ptr<Library> library_;
  std::unique_ptr<cutjoint_mechanism, void (*)(cutjoint_mechanism *)> owned_{nullptr, nullptr};
  cutjoint_mechanism * mechanism_ = nullptr;
  std::vector<Joint> joints_;
  std::vector<std::unique_ptr<Sensor>> sensors_;
  std::vector<std::size_t> driven_;  // joint of each input; as many as there are: none
  std::vector<int> takes_;           // what each input is by itself: a force, or a servo's position or velocity
  std::vector<bool> servo_;          // joints whose motor has a servo of its own
  std::vector<double> fields_, told_, order_, inputs_, held_;  // what joints are told, as an order, the one obeyed
  Parameters parameters_;
  double step_ = 0, frequency_ = 0, debt_ = 0, heard_ = 0;  // seconds at which an order was last taken
  bool hold_ = false, real_time_ = false;
  std::chrono::steady_clock::time_point last_;  // of the last write
  std::string fault_, refused_, said_;
};

}  // namespace cutjoint_control

#endif  // CUTJOINT_CONTROL__MECHANISM_HPP_
