// Draws a mechanism on a canvas. The scene (player.py) never changes; a frame holds the readings that do:
// {y: positions and orientations of the bodies, forces of the joints}. Turned by dragging.
function player(scene, canvas, arrows) {
  const pen = canvas.getContext('2d');
  let azimuth = 0, elevation = scene.elevation, reach = scene.reach, last = null, marked = -1, middle = scene.middle;

  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const add = (a, b, k) => a.map((x, i) => x + k * b[i]);

  // A point of a body in world axes: the position and the Euler parameters of the body are in y.
  function world(y, body, p) {
    const {at, turn} = scene.bodies[body];
    if (at === null) return p;  // ground
    const u = [y[turn + 1], y[turn + 2], y[turn + 3]], t = cross(u, p).map(x => 2 * x);
    return add(add(add([y[at], y[at + 1], y[at + 2]], p, 1), t, y[turn]), cross(u, t), 1);
  }
  const on = (frame, {body, point}) => world(frame.y, body, point);
  // On the paper, and how near to the viewer.
  function flat(p) {
    const d = add(p, middle, -1), [right, away, up] = scene.axes.map(axis => dot(axis, d));
    const s = Math.sin(azimuth), c = Math.cos(azimuth), back = c * away - s * right;
    const k = Math.min(canvas.width, canvas.height) / (2.05 * reach);
    return [canvas.width / 2 + k * (c * right + s * away),
            canvas.height / 2 - k * (Math.cos(elevation) * up + Math.sin(elevation) * back),
            Math.sin(elevation) * up - Math.cos(elevation) * back];
  }
  // Corners of the convex hull in order.
  function hull(points) {
    const turns = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    const half = points => points.reduce((kept, p) => {
      while (kept.length > 1 && turns(kept.at(-2), kept.at(-1), p) <= 0) kept.pop();
      return [...kept, p];
    }, []).slice(0, -1);
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return points.length < 3 ? points : [...half(sorted), ...half(sorted.reverse())];
  }
  function line(points, colour, width, fill) {
    pen.beginPath();
    points.forEach((p, i) => i ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
    pen.strokeStyle = colour; pen.lineWidth = width; pen.lineCap = pen.lineJoin = 'round';
    if (fill) {
      pen.closePath(); pen.globalAlpha = 0.55; pen.fillStyle = colour; pen.fill(); pen.globalAlpha = 1;
    }
    pen.stroke();
  }
  function ball(p, radius, colour) {
    pen.beginPath(); pen.arc(p[0], p[1], radius, 0, 7);
    pen.fillStyle = colour; pen.fill(); pen.lineWidth = 2; pen.strokeStyle = '#222'; pen.stroke();
  }
  function arrow(place, force) {
    const length = scene.metres_per_newton * Math.hypot(...force);
    if (!(length > 0)) return;
    const scale = scene.metres_per_newton * Math.min(1, scene.longest / length);
    const a = flat(place), b = flat(add(place, force, scale));
    line([a, b], scene.colours.arrow, 3);
    const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
    const head = Math.min(12, Math.hypot(b[0] - a[0], b[1] - a[1]) / 2);
    const side = t => [b[0] + head * Math.cos(angle + t), b[1] + head * Math.sin(angle + t)];
    line([side(-2.6), b, side(2.6)], scene.colours.arrow, 3);
  }
  // What the picture is centred on: a mechanism that floats is followed.
  function centre(y) {
    const bodies = scene.bodies.filter(body => body.at !== null);
    const mean = (sum, {at}) => add(sum, [y[at], y[at + 1], y[at + 2]], 1 / bodies.length);
    return scene.follows ? bodies.reduce(mean, scene.follows) : scene.middle;
  }
  // Nothing leaves the picture: what has reached further makes everything smaller.
  function widen(frame) {
    const parts = [...scene.bodies.map((body, k) => [k, body.corners]), ...scene.visuals.map(v => [v.body, v.corners])];
    const around = centre(frame.y), left = k => scene.follows && scene.bodies[k].at === null;  // ground is left behind
    for (const [k, corners] of parts) for (const p of left(k) ? [] : corners) {
      const far = Math.hypot(...add(world(frame.y, k, p), around, -1));
      if (far > reach) reach = far;
    }
  }
  function draw(frame) {
    last = frame;
    middle = centre(frame.y);
    widen(frame);
    const wide = Math.min(canvas.width, canvas.height) / 90;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const parts = scene.bodies.map((body, k) => {
      const points = body.corners.map(p => flat(world(frame.y, k, p)));
      return {body, points, held: true, near: points.reduce((sum, p) => sum + p[2], 0) / (points.length || 1)};
    });
    for (const {body: k, corners, colour} of scene.visuals) {
      const body = {colour, at: scene.bodies[k].at}, points = corners.map(p => flat(world(frame.y, k, p)));
      parts.push({body, points, near: points.reduce((sum, p) => sum + p[2], 0) / points.length});
    }
    parts.sort((a, b) => (a.body.at !== null) - (b.body.at !== null) || a.near - b.near);
    for (const {body, points, held} of parts) {
      line(hull(points), body.colour, body.at === null || !held ? 1 : wide, points.length > 2);
      if (held) for (const p of points) ball(p, 0.8 * wide, 'white');
    }
    for (const rod of scene.rods) line(rod.map(end => flat(on(frame, end))), scene.colours.rod, 0.6 * wide);
    scene.driven.forEach((ends, k) => {
      const place = ends.reduce((sum, end) => add(sum, on(frame, end), 1 / ends.length), [0, 0, 0]);
      ball(flat(place), (k === marked ? 1.8 : 1) * wide, scene.colours.driven);
    });
    if (arrows.checked) for (const joint of scene.joints)
      arrow(on(frame, joint), [0, 1, 2].map(k => frame.y[joint.at + k]));
  }
  function again() { if (last) draw(last); }
  function fit() {
    const fine = devicePixelRatio || 1;
    canvas.width = fine * canvas.clientWidth; canvas.height = fine * canvas.clientHeight; again();
  }
  canvas.onpointermove = event => {
    if (!event.buttons) return;
    azimuth -= event.movementX / 150;
    elevation = Math.max(-1.5, Math.min(1.5, elevation + event.movementY / 150));
    again();
  };
  arrows.onchange = again;
  new ResizeObserver(fit).observe(canvas); fit();  // the page, or the frame that it is in, may get another width
  return {draw, widen, mark: k => { marked = k; again(); }, restart: () => { reach = scene.reach; }};
}
