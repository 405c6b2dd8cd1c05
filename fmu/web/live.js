// Runs a mechanism in the page, in real time: the compiled step of its FMU, its inputs on sliders.
const live = JSON.parse(document.getElementById('live').textContent);
const find = id => document.getElementById(id);
const canvas = find('motion'), button = find('play'), says = find('says'), speed = find('speed');
const sliders = [...document.querySelectorAll('.drives input')];
const show = player(live.scene, canvas, find('arrows'));
const BUDGET = 12;  // milliseconds of stepping between two pictures
let mechanism = null, playing = false, last = 0, owed = 0, real = 0, steps = 0, spent = 0, problem = '';

function frame() {
  return {y: new Float64Array(mechanism.memory.buffer, mechanism.outputs(), live.readings)};
}
function report() {
  const time = mechanism.time();
  const words = [`${time.toFixed(2)} s simulated in ${real.toFixed(2)} s`];
  if (real > 0) words.push(`${(time / real).toFixed(2)} × real time`);
  if (steps) words.push(`a step of ${1e3 * live.step} ms takes ${(1e3 * spent / steps).toFixed(0)} µs`);
  if (Number.isFinite(mechanism.distance())) words.push(`singularity distance ${mechanism.distance().toFixed(3)}`);
  says.textContent = (problem ? [problem, ...words] : words).join(', ');
}
function picture() { show.draw(frame()); report(); }

// Steps that are due and for which there is time; what can't be kept up with is let go, not caught up later.
function advance(seconds) {
  const begin = performance.now();
  for (owed += seconds; owed >= live.step && performance.now() - begin < BUDGET; owed -= live.step, ++steps)
    if (mechanism.step() !== 0) { play(false); break; }
  spent += performance.now() - begin;
  if (owed >= live.step) owed = 0;
}
function tick(now) {
  if (!playing) return;
  const seconds = Math.min(now - last, 100) / 1e3;
  last = now; real += seconds;
  advance(seconds * speed.value);
  picture(); requestAnimationFrame(tick);
}
function play(on) {
  if (on && !playing) requestAnimationFrame(now => { last = now; tick(now); });
  playing = on; owed = 0; button.textContent = on ? 'Pause' : 'Play';
}
function drive(slider) {
  slider.parentElement.querySelector('output').textContent = `${Number(slider.value)} ${slider.dataset.unit}`;
  mechanism.drive(slider.dataset.input, slider.value);
}
function reset() {
  real = steps = spent = owed = 0; problem = '';
  show.restart(); mechanism.begin(); sliders.forEach(drive); picture();
}

const say = text => {
  const bytes = new Uint8Array(mechanism.memory.buffer);
  problem = new TextDecoder().decode(bytes.slice(text, bytes.indexOf(0, text)));
};
const code = Uint8Array.from(atob(live.code), letter => letter.charCodeAt(0));
const ready = WebAssembly.instantiate(code, {page: {say}}).then(({instance}) => {
  mechanism = instance.exports;
  mechanism._initialize();
  button.onclick = () => play(!playing);
  find('reset').onclick = reset;
  for (const slider of sliders) {
    slider.oninput = () => { drive(slider); show.mark(Number(slider.dataset.input)); if (!playing) picture(); };
    slider.onblur = slider.onchange = () => show.mark(-1);
  }
  reset();
  new IntersectionObserver((seen, watch) => {
    if (seen.some(entry => entry.isIntersecting)) { watch.disconnect(); play(true); }
  }).observe(canvas);
}).catch(error => { says.textContent = `This browser can't run it: ${error.message}`; });
