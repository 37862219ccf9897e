"use strict";
// The mechanism in motion: triangles in frames of links, poses, contacts; all decoded once, projected for each picture.
(() => {
  const holder = document.getElementById("scene");
  if (!holder) return;
  const scene = JSON.parse(holder.textContent), canvas = document.getElementById("stage");
  const pen = canvas.getContext("2d"), by = id => document.getElementById(id);
  const [play, slider, clock, choice, speed, reset] = ["play", "scrub", "clock", "whichrun", "speed", "resetview"].map(by);
  const n = scene.links, UNKNOWN = -32768, UNIT = 1 / 32767;

  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
  const decoded = text => text ? new Int16Array(bytes(text)) : null;
  const runs = scene.runs.map(r => {
    const predicted = decoded(r.predicted), measured = decoded(r.measured);
    const pictures = n ? (predicted || measured).length / (7 * n) : 1;
    return { ...r, predicted, measured, pictures, points: decoded(r.points), forces: decoded(r.forces) };
  });
  const solids = scene.solids.map(s => {
    const vertices = Float32Array.from(decoded(s.vertices), x => x * s.scale * UNIT);
    const low = [0, 1, 2].map(i => vertices.reduce((a, x, k) => k % 3 === i ? Math.min(a, x) : a, Infinity));
    const high = [0, 1, 2].map(i => vertices.reduce((a, x, k) => k % 3 === i ? Math.max(a, x) : a, -Infinity));
    const corners = [];
    for (let k = 0; k < 8; k++) corners.push([0, 1, 2].map(i => (k >> i) & 1 ? high[i] : low[i]));
    return { ...s, vertices, corners, faces: new Uint16Array(bytes(s.faces)), seen: new Float32Array(vertices.length) };
  });
  let run = runs[0], picture = 0, playing = false, last = 0, colours = {}, size = [0, 0], zoom = 1, middle = [0, 0];
  let azimuth = scene.view[0], elevation = scene.view[1], camera = null;

  // a link's frame at a picture; null where it is not known
  const WORLD = { p: [0, 0, 0], R: [1, 0, 0, 0, 1, 0, 0, 0, 1] };
  const frame = (poses, k, link) => {
    if (link < 0) return WORLD;
    const at = (7 * n) * k + 7 * link;
    if (!poses || poses[at] === UNKNOWN) return null;
    const f = 2 * scene.reach * UNIT, c = scene.centre;
    const [w, x, y, z] = [poses[at + 3] * UNIT, poses[at + 4] * UNIT, poses[at + 5] * UNIT, poses[at + 6] * UNIT];
    return {
      p: [poses[at] * f + c[0], poses[at + 1] * f + c[1], poses[at + 2] * f + c[2]],
      R: [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
          2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
          2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    };
  };
  const placed = (f, a) => [0, 1, 2].map(i => f.p[i] + f.R[3 * i] * a[0] + f.R[3 * i + 1] * a[1] + f.R[3 * i + 2] * a[2]);
  const look = () => {
    const a = azimuth * Math.PI / 180, e = elevation * Math.PI / 180;
    const right = [-Math.sin(a), Math.cos(a), 0];
    const towards = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
    const up = [towards[1] * right[2] - towards[2] * right[1], towards[2] * right[0] - towards[0] * right[2],
                towards[0] * right[1] - towards[1] * right[0]];
    camera = { right, up, towards };
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const seen = x => {
    const d = [x[0] - scene.centre[0], x[1] - scene.centre[1], x[2] - scene.centre[2]];
    return [size[0] / 2 + zoom * (dot(d, camera.right) - middle[0]), size[1] / 2 - zoom * (dot(d, camera.up) - middle[1]), dot(d, camera.towards)];
  };

  // the picture's scale: all that moves fits, from where the viewer stands
  const fitView = () => {
    look();
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    const note = x => {
      const d = [0, 1, 2].map(i => x[i] - scene.centre[i]);
      [dot(d, camera.right), dot(d, camera.up)].forEach((v, i) => { low[i] = Math.min(low[i], v); high[i] = Math.max(high[i], v); });
    };
    for (const poses of [run.measured, run.predicted]) {
      if (!poses) continue;
      const every = Math.max(1, Math.floor(run.pictures / 60));
      for (let k = 0; k < run.pictures; k += every) for (const s of solids) {
        const f = frame(poses, k, s.link);
        if (f) for (const c of s.corners) note(placed(f, c));
      }
    }
    if (!(high[0] > -Infinity)) { middle = [0, 0]; zoom = 100; return; }
    middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
    zoom = 0.92 * Math.min(size[0] / Math.max(high[0] - low[0], 1e-6), size[1] / Math.max(high[1] - low[1], 1e-6));
  };

  // a picture of triangles in which the nearest is seen at each dot; two dots or more along a pixel make edges smooth
  const film = (() => {
    const sheet = document.createElement("canvas"), board = sheet.getContext("2d");
    let wide = 0, high = 0, fine = 2, depth, dots, image;
    const resize = sharp => {
      fine = Math.max(2, sharp);
      [wide, high] = size.map(x => Math.max(1, Math.round(fine * x)));
      [sheet.width, sheet.height] = [wide, high];
      image = board.createImageData(wide, high);
      [dots, depth] = [new Uint32Array(image.data.buffer), new Float32Array(wide * high)];
    };
    const clear = () => { dots.fill(0); depth.fill(-Infinity); };
    // corners at a, b, c of p: two coordinates on the screen and the distance towards the viewer
    const cover = (p, a, b, c, [red, green, blue]) => {
      const colour = (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
      if (p[b + 1] < p[a + 1]) [a, b] = [b, a];
      if (p[c + 1] < p[b + 1]) [b, c] = [c, b];
      if (p[b + 1] < p[a + 1]) [a, b] = [b, a];
      const [x0, y0, z0] = [fine * p[a], fine * p[a + 1], p[a + 2]], [x1, y1] = [fine * p[b], fine * p[b + 1]];
      const [ux, uy, uz] = [x1 - x0, y1 - y0, p[b + 2] - z0], [wx, wy, wz] = [fine * p[c] - x0, fine * p[c + 1] - y0, p[c + 2] - z0];
      const area = ux * wy - uy * wx;
      if (!(Math.abs(area) > 1e-9)) return;
      const zx = (uz * wy - uy * wz) / area, zy = (ux * wz - uz * wx) / area;
      const last = Math.min(high - 1, Math.ceil(y0 + wy - 0.5) - 1);
      for (let j = Math.max(0, Math.ceil(y0 - 0.5)); j <= last; j++) {
        const y = j + 0.5 - y0, long = x0 + wx * y / wy;
        const short = y < uy ? x0 + ux * y / uy : x1 + (wx - ux) * (y - uy) / (wy - uy);
        const end = Math.min(wide, Math.ceil(Math.max(long, short) - 0.5));
        for (let i = Math.max(0, Math.ceil(Math.min(long, short) - 0.5)); i < end; i++) {
          const z = z0 + zx * (i + 0.5 - x0) + zy * y, at = wide * j + i;
          if (z > depth[at]) { depth[at] = z; dots[at] = colour; }
        }
      }
    };
    const show = () => { board.putImageData(image, 0, 0); pen.drawImage(sheet, 0, 0, size[0], size[1]); };
    return { resize, clear, cover, show };
  })();

  const trace = (points, close) => {
    pen.beginPath();
    points.forEach((p, k) => k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
    if (close) pen.closePath();
  };
  // corners of a solid on the screen, with their distance towards the viewer; false where its link is not known
  const project = (s, poses, k) => {
    const f = frame(poses, k, s.link);
    if (!f) return false;
    const rows = [camera.right, camera.up, camera.towards].map(a => [0, 1, 2].map(j => a[0] * f.R[j] + a[1] * f.R[3 + j] + a[2] * f.R[6 + j]));
    const d = [0, 1, 2].map(i => f.p[i] - scene.centre[i]), shift = [camera.right, camera.up, camera.towards].map(a => dot(a, d));
    const v = s.vertices, out = s.seen;
    for (let i = 0; i < v.length; i += 3) {
      const x = v[i], y = v[i + 1], z = v[i + 2];
      out[i] = size[0] / 2 + zoom * (rows[0][0] * x + rows[0][1] * y + rows[0][2] * z + shift[0] - middle[0]);
      out[i + 1] = size[1] / 2 - zoom * (rows[1][0] * x + rows[1][1] * y + rows[1][2] * z + shift[1] - middle[1]);
      out[i + 2] = rows[2][0] * x + rows[2][1] * y + rows[2][2] * z + shift[2];
    }
    return true;
  };
  const triangle = (s, i) => [3 * s.faces[i], 3 * s.faces[i + 1], 3 * s.faces[i + 2]];
  const shaded = (base, light) => base.map(c => Math.round(Math.min(255, c * (0.66 + 0.42 * light))));
  const tinted = (base, link) => base.map(c => c + (link % 2 ? 0.32 : 0.08) * (255 - c));  // neighbours can be told apart

  // the surface, brighter where it faces the light above the viewer's left shoulder; each dot is that of the nearest triangle
  const body = (poses, k, base) => {
    film.clear();
    for (const s of solids) {
      if (!project(s, poses, k)) continue;
      const p = s.seen, own = s.colour ? s.colour.map(c => 255 * c) : tinted(base, s.link);
      for (let i = 0; i < s.faces.length; i += 3) {
        const [a, b, c] = triangle(s, i);
        const u = [p[b] - p[a], p[a + 1] - p[b + 1], zoom * (p[b + 2] - p[a + 2])];
        const w = [p[c] - p[a], p[a + 1] - p[c + 1], zoom * (p[c + 2] - p[a + 2])];
        const normal = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]];
        if (s.closed && normal[2] <= 0) continue;
        const long = Math.hypot(...normal) || 1, turn = normal[2] < 0 ? -1 : 1;
        const light = Math.max(0, turn * (-0.3 * normal[0] + 0.75 * normal[1] + 0.59 * normal[2]) / long);
        film.cover(p, a, b, c, shaded(own, light));
      }
    }
    film.show();
  };
  // the outline of all that was measured, in one colour, behind what was predicted: it is seen where they differ
  const ghost = (poses, k, colour) => {
    pen.beginPath();
    for (const s of solids) {
      if (s.link < 0 || !project(s, poses, k)) continue;
      const p = s.seen;
      for (let i = 0; i < s.faces.length; i += 3) {
        const [a, b, c] = triangle(s, i);
        const left = (p[b] - p[a]) * (p[c + 1] - p[a + 1]) - (p[b + 1] - p[a + 1]) * (p[c] - p[a]) > 0;
        pen.moveTo(p[a], p[a + 1]);
        for (const j of left ? [b, c] : [c, b]) pen.lineTo(p[j], p[j + 1]);
        pen.closePath();
      }
    }
    pen.globalAlpha = 0.45; pen.fillStyle = colour; pen.fill(); pen.globalAlpha = 1;
  };
  const trail = (poses, k, colour) => {
    const back = Math.ceil(1.2 / run.seconds);
    pen.strokeStyle = colour; pen.lineWidth = 1.6;
    for (const [link, end] of scene.trails) {
      let before = null;
      for (let j = Math.max(0, k - back); j <= k; j++) {
        const f = frame(poses, j, link), now = f && seen(placed(f, end));
        if (before && now) { pen.globalAlpha = 0.7 * (1 - (k - j) / (back + 1)); trace([before, now]); pen.stroke(); }
        before = now;
      }
    }
    pen.globalAlpha = 1;
  };
  const arrow = (from, to) => {
    const [x, y] = [to[0] - from[0], to[1] - from[1]], long = Math.hypot(x, y), head = Math.min(8, 0.5 * long);
    if (long < 1) return;
    const [a, b] = [x / long, y / long], neck = [to[0] - head * a, to[1] - head * b];
    trace([from, neck]); pen.stroke();
    trace([to, [neck[0] - 0.5 * head * b, neck[1] + 0.5 * head * a], [neck[0] + 0.5 * head * b, neck[1] - 0.5 * head * a]], true);
    pen.fill();
  };
  const contacts = k => {
    if (!run.points) return;
    pen.strokeStyle = pen.fillStyle = colours.force; pen.lineWidth = 2.4;
    for (let i = 0; i < run.contacts; i++) {
      const at = 3 * (run.contacts * k + i);
      if (run.points[at] === UNKNOWN) continue;
      const point = [0, 1, 2].map(j => scene.centre[j] + 2 * scene.reach * UNIT * run.points[at + j]);
      const end = point.map((x, j) => x + scene.newton * scene.force * UNIT * run.forces[at + j]);
      const foot = seen(point);
      pen.beginPath(); pen.arc(foot[0], foot[1], 3.4, 0, 7); pen.fill();
      arrow(foot, seen(end));
    }
  };
  const wires = (poses, k) => {
    pen.font = "12px system-ui, sans-serif"; pen.textBaseline = "middle"; pen.textAlign = "left";
    for (const [link, place, text] of scene.wires) {
      const f = frame(poses, k, link);
      if (!f) continue;
      const [x, y] = seen(placed(f, place));
      pen.fillStyle = colours.wire; pen.strokeStyle = colours.card; pen.lineWidth = 3; pen.lineJoin = "round";
      trace([[x - 6, y], [x, y - 6], [x + 6, y], [x, y + 6]], true); pen.stroke(); pen.fill();
      if (scene.wires.length <= 8) text.split("\n").forEach((line, i) => { pen.strokeText(line, x + 10, y + 14 * i); pen.fillText(line, x + 10, y + 14 * i); });
    }
  };
  // planes to the edges of the canvas, in squares of 1, 2 or 5 times a power of ten; slopes and walls around the motion
  const planes = () => {
    const wide = Math.max(1.2 * scene.reach, 0.75 * size[0] / zoom), raw = Math.max(scene.reach / 3, wide / 40);
    const ten = Math.pow(10, Math.floor(Math.log10(raw))), cell = ten * [1, 2, 5, 10].find(m => m * ten >= raw);
    pen.strokeStyle = colours.grid; pen.lineWidth = scene.ground ? 1.4 : 1;
    for (const [origin, u, v, normal] of scene.planes) {
      const d = scene.centre.map((x, i) => x - origin[i]), middle = [u, v].map(a => Math.round(dot(d, a) / cell) * cell);
      const count = Math.ceil((normal[2] > 0.999 ? wide : 2 * scene.reach) / cell), b = count * cell;
      const at = (x, y) => seen([0, 1, 2].map(i => origin[i] + (middle[0] + x) * u[i] + (middle[1] + y) * v[i]));
      for (let i = -count; i <= count; i++) {
        const a = i * cell;
        trace([at(a, -b), at(a, b)]); pen.stroke();
        trace([at(-b, a), at(b, a)]); pen.stroke();
      }
    }
    pen.fillStyle = colours.muted; pen.font = "12px system-ui, sans-serif"; pen.textAlign = "right"; pen.textBaseline = "bottom";
    pen.fillText(`squares of ${Number(cell.toPrecision(2))} m`, size[0] - 10, size[1] - 8);
  };
  const axes = () => {
    const origin = [38, size[1] - 38];
    pen.lineWidth = 2; pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle";
    [["x", "#d64545"], ["y", "#3a9a4b"], ["z", "#3b7dd8"]].forEach(([name, colour], i) => {
      const end = [origin[0] + 24 * camera.right[i], origin[1] - 24 * camera.up[i]];
      pen.strokeStyle = pen.fillStyle = colour;
      trace([origin, end]); pen.stroke();
      pen.fillText(name, origin[0] + 33 * camera.right[i], origin[1] - 33 * camera.up[i]);
    });
  };
  const draw = () => {
    const k = Math.min(Math.floor(picture), run.pictures - 1);
    look();
    pen.clearRect(0, 0, size[0], size[1]);
    planes();
    trail(run.measured, k, colours.measured);
    trail(run.predicted, k, colours.predicted);
    if (run.predicted) { ghost(run.measured, k, colours.measured); body(run.predicted, k, colours.predictedRgb); }
    else body(run.measured, k, colours.measuredRgb);
    contacts(k);
    wires(run.predicted || run.measured, k);
    axes();
    slider.value = k;
    clock.textContent = `${(k * run.seconds).toFixed(2)} s of ${((run.pictures - 1) * run.seconds).toFixed(2)} s`;
    play.textContent = playing ? "Pause" : "Play";
  };
  const theme = () => {
    const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue(name).trim();
    const rgb = text => { pen.fillStyle = text; return [1, 3, 5].map(i => parseInt(pen.fillStyle.slice(i, i + 2), 16)); };
    colours = { measured: value("--measured"), predicted: value("--predicted"), grid: value("--line"), muted: value("--muted"), force: value("--accent"), wire: value("--wire"), card: value("--card") };
    colours.measuredRgb = rgb(colours.measured); colours.predictedRgb = rgb(colours.predicted);
  };
  const measure = () => {
    const box = canvas.getBoundingClientRect(), sharp = devicePixelRatio || 1;
    size = [box.width, box.height];
    canvas.width = Math.round(box.width * sharp); canvas.height = Math.round(box.height * sharp);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    film.resize(sharp);
    fitView(); draw();
  };
  const tick = now => {
    if (!playing) return;
    picture += Math.min(0.1, Math.max(0, now - last) / 1000) * Number(speed.value) / run.seconds;
    last = now;
    if (picture >= run.pictures) picture = 0;
    draw();
    requestAnimationFrame(tick);
  };
  const start = on => { playing = on; last = performance.now(); draw(); if (on) requestAnimationFrame(tick); };
  const take = k => { run = runs[k]; picture = 0; slider.max = run.pictures - 1; };

  runs.forEach((r, k) => choice.add(new Option(r.name + (r.heldout && !r.name.includes("held") ? " (held out)" : ""), k)));
  play.addEventListener("click", () => start(!playing));
  slider.addEventListener("input", () => { playing = false; picture = Number(slider.value); draw(); });
  choice.addEventListener("change", () => { take(Number(choice.value)); fitView(); draw(); });
  reset.addEventListener("click", () => { [azimuth, elevation] = scene.view; fitView(); draw(); });
  let held = null;
  canvas.addEventListener("pointerdown", e => { held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", e => {
    if (!held) return;
    azimuth -= 0.4 * (e.clientX - held[0]);
    elevation = Math.max(-90, Math.min(90, elevation + 0.4 * (e.clientY - held[1])));
    held = [e.clientX, e.clientY];
    fitView(); draw();
  });
  ["pointerup", "pointercancel"].forEach(name => canvas.addEventListener(name, () => { held = null; }));
  canvas.addEventListener("keydown", e => { if (e.key === " ") { e.preventDefault(); start(!playing); } });
  addEventListener("resize", measure);
  const repaint = () => { theme(); draw(); };
  addEventListener("themechange", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  take(0); theme(); measure();
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) start(true);
  else { picture = run.pictures / 3; draw(); }
})();
