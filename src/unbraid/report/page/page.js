"use strict";
(() => {
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const tip = document.querySelector(".tip");
  const place = (x, y, below) => {
    const box = tip.getBoundingClientRect();
    const above = y - box.height - 12;
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = (above >= 4 ? above : Math.max(4, Math.min(below + 8, innerHeight - box.height - 4))) + "px";
  };
  const say = (text, x, y, below = y + 12) => {
    tip.textContent = text;
    tip.hidden = !text;
    tip.classList.remove("held");
    if (text) place(x, y, below);
  };

  // Light or dark: the system decides until the reader does.
  const toggle = document.querySelector(".theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const setTheme = (name) => {
    if (name) document.documentElement.dataset.theme = name;
    toggle.textContent = dark() ? "Light" : "Dark";
    toggle.setAttribute("aria-pressed", String(dark()));
  };
  let remembered = null;
  try { remembered = localStorage.getItem("unbraid-theme"); } catch { /* files may have no storage */ }
  setTheme(remembered === "dark" || remembered === "light" ? remembered : null);
  toggle.addEventListener("click", () => {
    setTheme(dark() ? "light" : "dark");
    try { localStorage.setItem("unbraid-theme", document.documentElement.dataset.theme); } catch { /* as above */ }
  });

  // Cells that have more to say: pointed at, tapped or reached by keyboard. Of a cell that is a link, the first tap
  // says it and offers the way, the second follows; a mouse and the keyboard need one press.
  let told = null, finger = false;
  const hush = () => { told = null; say(""); };
  const tell = (cell) => {
    const box = cell.getBoundingClientRect();
    const link = finger && cell.querySelector("a[href]");
    told = cell;
    say(cell.dataset.tip, box.left, box.top, box.bottom);
    if (!link) return;
    const way = Object.assign(document.createElement("a"), { href: link.hash, textContent: "Open the card" });
    tip.append(way);
    tip.classList.add("held");
    place(box.left, box.top, box.bottom);
  };
  document.addEventListener("pointerdown", (event) => {
    finger = event.pointerType === "touch";
    if (told && !tip.contains(event.target) && !told.contains(event.target)) hush();
  }, true);
  document.addEventListener("keydown", (event) => {
    finger = false;
    if (event.key === "Escape" && told) hush();
  }, true);
  tip.addEventListener("click", (event) => { if (event.target.closest("a")) setTimeout(hush); });
  for (const cell of all("[data-tip]")) {
    let before = null;
    cell.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") tell(cell); });
    cell.addEventListener("pointerdown", () => { before = told; });
    cell.addEventListener("focusin", () => tell(cell));
    cell.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hush(); });
    cell.addEventListener("focusout", (event) => { if (!tip.contains(event.relatedTarget) && told === cell) hush(); });
    cell.addEventListener("click", (event) => {
      if (!finger) return;
      if (before === cell) { hush(); return; }
      event.preventDefault();
      tell(cell);
    });
  }
  const follow = () => {
    if (!told) return;
    const box = told.getBoundingClientRect();
    if (box.bottom < 0 || box.top > innerHeight) hush();
    else place(box.left, box.top, box.bottom);
  };
  addEventListener("scroll", follow, { capture: true, passive: true });

  // Cards are closed until a link leads to them, or they are printed.
  const reveal = (hash) => {
    const card = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (card instanceof HTMLDetailsElement) card.open = true;
    return card;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link && !event.defaultPrevented) reveal(link.hash);
  });
  addEventListener("hashchange", () => reveal(location.hash));
  const start = reveal(location.hash);
  if (start instanceof HTMLDetailsElement) start.scrollIntoView();
  addEventListener("beforeprint", () => all(".card").forEach((card) => { card.open = true; }));

  // Matrices whose cells lead somewhere: one stop of the tab key, arrows lead from cell to cell.
  for (const table of all("table.upright")) {
    const rows = all("tr", table).map((row) => [...row.cells].map((cell) => cell.querySelector("a.cell, button.word"))).filter((row) => row.some(Boolean));
    const stops = rows.flat().filter(Boolean);
    const rest = (at) => stops.forEach((one) => { one.tabIndex = one === at ? 0 : -1; });
    rest(stops[0]);
    table.addEventListener("focusin", (event) => { if (stops.includes(event.target)) rest(event.target); });
    table.addEventListener("keydown", (event) => {
      const from = rows.findIndex((row) => row.includes(event.target));
      const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] || [0, 0];
      if (from < 0 || (!down && !right)) return;
      event.preventDefault();
      for (let i = from + down, j = rows[from].indexOf(event.target) + right; rows[i] && j >= 0 && j < rows[i].length; i += down, j += right) {
        if (rows[i][j]) { rows[i][j].focus(); return; }
      }
    });
  }

  // Commands to copy; where the clipboard is refused, the text is selected for the reader.
  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // Curves: the nearest point of each, by pointer or by arrow keys.
  for (const chart of all("svg.live")) {
    const series = JSON.parse(chart.dataset.points);
    if (!series.length) continue;
    const view = chart.viewBox.baseVal;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("class", "cross");
    let at = series[0].p.length - 1;
    const nearest = (points, x) => points.reduce((best, point, i) => (Math.abs(point[0] - x) < Math.abs(points[best][0] - x) ? i : best), 0);
    const show = (x) => {
      const found = series.map((one) => [one, nearest(one.p, x)]);
      const [first, place] = found[0];
      line.setAttribute("d", `M${first.p[place][0]} 30V${view.height - 40}`);
      chart.append(line);
      const box = chart.getBoundingClientRect();
      const values = found.map(([one, i]) => `${one.n}: ${one.t[i][1]}`);
      say([`${chart.dataset.x} ${first.t[place][0]}`, ...values].join("\n"), box.left + (first.p[place][0] * box.width) / view.width, box.top + 40);
    };
    const hide = () => { line.remove(); say(""); };
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      show(((event.clientX - box.left) * view.width) / box.width);
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      if (event.key === "Escape") hide();
      if (!move) return;
      event.preventDefault();
      at = Math.min(series[0].p.length - 1, Math.max(0, at + move));
      show(series[0].p[at][0]);
    });
  }

  // Walks along a latent: scrub by pointer or arrows, play by space or the button.
  const walks = all(".walk").map((row) => {
    const frames = row.querySelector(".frames");
    const [image, canvas, cursor] = [frames.querySelector("img"), row.querySelector("canvas"), row.querySelector(".cursor")];
    const count = Number(row.dataset.frames);
    const values = frames.dataset.values.split(" ");
    const paint = canvas.getContext("2d");
    const walk = { frame: Math.floor(count / 2), way: 1, playing: false, frames };
    walk.show = (frame) => {
      walk.frame = Math.min(count - 1, Math.max(0, frame));
      paint.drawImage(image, walk.frame * canvas.width, 0, canvas.width, canvas.height, 0, 0, canvas.width, canvas.height);
      cursor.style.left = (100 * walk.frame) / count + "%";
      cursor.style.width = 100 / count + "%";
      frames.setAttribute("aria-valuenow", String(walk.frame));
      frames.setAttribute("aria-valuetext", values[walk.frame]);
    };
    walk.step = () => {
      if (walk.frame + walk.way >= count || walk.frame + walk.way < 0) walk.way = -walk.way;
      walk.show(walk.frame + walk.way);
    };
    walk.play = (playing) => { walk.playing = playing; frames.classList.toggle("on", playing || frames === document.activeElement); };
    const scrub = (event) => {
      const box = frames.getBoundingClientRect();
      walk.play(false);
      frames.classList.add("on");
      walk.show(Math.floor(((event.clientX - box.left) / box.width) * count));
    };
    frames.addEventListener("pointerdown", scrub);
    frames.addEventListener("pointermove", scrub);
    frames.addEventListener("pointerleave", () => { if (frames !== document.activeElement) frames.classList.remove("on"); });
    frames.addEventListener("focus", () => frames.classList.add("on"));
    frames.addEventListener("blur", () => walk.play(false));
    frames.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -count, End: count }[event.key];
      if (event.key === " " || event.key === "Enter") walk.play(!walk.playing);
      else if (move) { walk.play(false); walk.show(walk.frame + move); } else return;
      event.preventDefault();
    });
    canvas.addEventListener("pointerenter", () => walk.play(true));
    canvas.addEventListener("pointerleave", () => walk.play(false));
    canvas.addEventListener("pointerdown", () => walk.play(!walk.playing));
    const first = () => walk.show(walk.frame);
    if (image.complete) first(); else image.addEventListener("load", first);
    return walk;
  });
  setInterval(() => walks.forEach((walk) => walk.playing && walk.step()), 140);
  for (const button of all(".play-all")) {
    const mine = walks.filter((walk) => button.parentElement.contains(walk.frames));
    button.addEventListener("click", () => {
      const start = !mine.some((walk) => walk.playing);
      mine.forEach((walk) => walk.play(start));
      button.textContent = start ? "Stop" : "Play all";
    });
  }

  // Tables: sort by a heading, keep the rows that hold every word of the filter.
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    all("thead th", table).forEach((head, column) => {
      const numeric = head.classList.contains("num");
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "none" ? numeric : head.getAttribute("aria-sort") === "ascending";
        all("th", table.tHead).forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.key;
        const order = (a, b) => {
          if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
          return (down ? -1 : 1) * (numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
        };
        body.append(...[...body.rows].sort(order));
      });
    });
  }
  for (const box of all(".filter")) {
    const rows = all("tbody tr", box.parentElement);
    box.addEventListener("input", () => {
      const parts = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row) => { row.hidden = !parts.every((part) => row.textContent.toLowerCase().includes(part)); });
      const shown = rows.filter((row) => !row.hidden).length;
      box.parentElement.querySelector(".count").textContent = `${shown} of ${rows.length} rows`;
    });
  }
  document.body.dataset.ready = "yes";
})();
