"use strict";
// The theme: the system's, until the button says otherwise.
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const stored = () => { try { return localStorage.getItem("isthmus-theme"); } catch { return null; } };
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  if (stored()) root.dataset.theme = stored();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("isthmus-theme", root.dataset.theme); } catch { /* a page without storage */ }
    dispatchEvent(new Event("themechange"));
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
  document.querySelectorAll("button[data-copy]").forEach(b => b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent);
      b.textContent = "copied";
    } catch { b.textContent = "select the text"; }
  }));
})();

// The mechanism: poses are decoded once, projected and drawn for each picture.
(() => {
  const holder = document.getElementById("scene");
  if (!holder) return;
  const scene = JSON.parse(holder.textContent), canvas = document.getElementById("stage");
  const pen = canvas.getContext("2d"), by = id => document.getElementById(id);
  const [play, slider, clock, choice, speed, reset] = ["play", "scrub", "clock", "whichrun", "speed", "resetview"].map(by);
  const n = scene.links;

  const decoded = text => {
    if (!text) return null;
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Int16Array(bytes.buffer);
  };
  const runs = scene.runs.map(r => {
    const predicted = decoded(r.predicted), measured = decoded(r.measured);
    return { ...r, predicted, measured, pictures: (predicted || measured).length / (7 * n) };
  });
  let run = runs[0], picture = 0, playing = false, last = 0, colours = {}, size = [0, 0], zoom = 1;
  let azimuth = scene.view[0], elevation = scene.view[1];

  // a link's frame at a picture, between two whole ones; null where it is not known
  const frame = (poses, k, link) => {
    const at = (7 * n) * k + 7 * link;
    if (!poses || poses[at] === -32768) return null;
    const f = 2 * scene.reach / 32767, c = scene.centre, u = 1 / 32767;
    const [w, x, y, z] = [poses[at + 3] * u, poses[at + 4] * u, poses[at + 5] * u, poses[at + 6] * u];
    return {
      p: [poses[at] * f + c[0], poses[at + 1] * f + c[1], poses[at + 2] * f + c[2]],
      R: [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
          2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
          2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    };
  };
  const placed = (f, a) => [0, 1, 2].map(i => f.p[i] + f.R[3 * i] * a[0] + f.R[3 * i + 1] * a[1] + f.R[3 * i + 2] * a[2]);
  let camera = null;
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
  let middle = [0, 0];
  const fitView = () => {
    look();
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    const note = (x, r) => {
      const d = [0, 1, 2].map(i => x[i] - scene.centre[i]);
      [dot(d, camera.right), dot(d, camera.up)].forEach((v, i) => { low[i] = Math.min(low[i], v - r); high[i] = Math.max(high[i], v + r); });
    };
    for (const poses of [run.measured, run.predicted]) {
      if (!poses) continue;
      const every = Math.max(1, Math.floor(run.pictures / 60));
      for (let k = 0; k < run.pictures; k += every) for (let i = 0; i < n; i++) {
        const f = frame(poses, k, i);
        if (!f) continue;
        note(f.p, 0);
        for (const s of scene.shapes) if (s.link === i) for (const e of s.ends) note(placed(f, e), s.radius);
        for (const b of scene.bones) if (b[0] === i) note(placed(f, b[1]), 0);
      }
    }
    if (!(high[0] > -Infinity)) { middle = [0, 0]; zoom = 100; return; }
    middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
    zoom = 0.86 * Math.min(size[0] / Math.max(high[0] - low[0], 1e-6), size[1] / Math.max(high[1] - low[1], 1e-6));
  };

  const hull = points => {
    const p = points.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    const half = list => {
      const found = [];
      for (const x of list) {
        while (found.length > 1 && turn(found[found.length - 2], found[found.length - 1], x) <= 0) found.pop();
        found.push(x);
      }
      found.pop();
      return found;
    };
    return half(p).concat(half(p.reverse()));
  };
  const outline = (f, s) => {
    const points = [];
    let depth = 0;
    for (const e of s.ends) {
      const c = seen(placed(f, e));
      depth += c[2] / s.ends.length;
      if (!s.radius) { points.push(c); continue; }
      const r = Math.max(s.radius * zoom, 2.5);
      for (let k = 0; k < 16; k++) points.push([c[0] + r * Math.cos(k * Math.PI / 8), c[1] + r * Math.sin(k * Math.PI / 8)]);
    }
    return { polygon: hull(points), depth };
  };
  const trace = (points, close) => {
    pen.beginPath();
    points.forEach((p, k) => k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
    if (close) pen.closePath();
  };
  const body = (poses, k, edge, fill, dash) => {
    const drawn = [];
    for (const s of scene.shapes) {
      const f = frame(poses, k, s.link);
      if (f) drawn.push(outline(f, s));
    }
    drawn.sort((a, b) => a.depth - b.depth);
    pen.setLineDash(dash); pen.strokeStyle = edge; pen.lineJoin = pen.lineCap = "round";
    for (const d of drawn) {
      trace(d.polygon, true);
      pen.fillStyle = fill; pen.lineWidth = 1.6;
      if (fill) pen.fill();
      pen.stroke();
    }
    pen.lineWidth = 3;
    for (const [link, end] of scene.bones) {
      const f = frame(poses, k, link);
      if (f) { trace([seen(f.p), seen(placed(f, end))]); pen.stroke(); }
    }
    pen.setLineDash([]);
    pen.fillStyle = edge;
    for (let i = 0; i < n; i++) {
      const f = frame(poses, k, i);
      if (!f || n > 30) continue;
      const c = seen(f.p);
      pen.beginPath(); pen.arc(c[0], c[1], 2.6, 0, 7); pen.fill();
    }
  };
  const trail = (poses, k, colour) => {
    const back = Math.ceil(1.2 / run.seconds);
    pen.strokeStyle = colour; pen.lineWidth = 1.6;
    for (const [link, end] of scene.points) {
      let before = null;
      for (let j = Math.max(0, k - back); j <= k; j++) {
        const f = frame(poses, j, link), now = f && seen(placed(f, end));
        if (before && now) { pen.globalAlpha = 0.7 * (1 - (k - j) / (back + 1)); trace([before, now]); pen.stroke(); }
        before = now;
      }
    }
    pen.globalAlpha = 1;
  };
  const ground = () => {
    if (scene.ground === null) return;
    pen.strokeStyle = colours.grid; pen.lineWidth = 1;
    const r = 1.5 * scene.reach, z = scene.ground, c = scene.centre;
    for (let i = -6; i <= 6; i++) {
      const a = r * i / 6;
      trace([seen([c[0] + a, c[1] - r, z]), seen([c[0] + a, c[1] + r, z])]); pen.stroke();
      trace([seen([c[0] - r, c[1] + a, z]), seen([c[0] + r, c[1] + a, z])]); pen.stroke();
    }
  };
  const draw = () => {
    const k = Math.min(Math.floor(picture), run.pictures - 1);
    look();
    pen.clearRect(0, 0, size[0], size[1]);
    ground();
    trail(run.measured, k, colours.measured);
    trail(run.predicted, k, colours.predicted);
    body(run.measured, k, colours.measured, colours.ghost, []);
    body(run.predicted, k, colours.predicted, colours.fill, [5, 4]);
    slider.value = k;
    clock.textContent = `${(k * run.seconds).toFixed(2)} s of ${((run.pictures - 1) * run.seconds).toFixed(2)} s`;
    play.textContent = playing ? "Pause" : "Play";
  };
  const theme = () => {
    const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue(name).trim();
    colours = { measured: value("--measured"), predicted: value("--predicted"), ghost: value("--ghost"), fill: value("--predicted-fill"), grid: value("--grid") };
    draw();
  };
  const measure = () => {
    const box = canvas.getBoundingClientRect(), sharp = devicePixelRatio || 1;
    size = [box.width, box.height];
    canvas.width = Math.round(box.width * sharp); canvas.height = Math.round(box.height * sharp);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
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
  const take = k => { run = runs[k]; picture = 0; slider.max = run.pictures - 1; fitView(); draw(); };

  runs.forEach((r, k) => choice.add(new Option(r.name + (r.heldout && !r.name.includes("held") ? " (held out)" : ""), k)));
  play.addEventListener("click", () => start(!playing));
  slider.addEventListener("input", () => { playing = false; picture = Number(slider.value); draw(); });
  choice.addEventListener("change", () => take(Number(choice.value)));
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
  addEventListener("themechange", theme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
  take(0); measure(); theme();
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) start(true);
  else { picture = run.pictures / 3; draw(); }
})();
