// The page of `mpt dashboard`: one stream of states, one question for the history of the connection that is looked at, and charts on plain canvases.
'use strict';

const by = (id) => document.getElementById(id);
const COLOURS = ['#3987e5', '#d9832b', '#2fa36b', '#b45fc9', '#c9504f', '#7a8b2d', '#2aa5b8', '#8a7457'];
const MOST_LISTED = 200;
const MOST_EVENTS = 200;
// Without a message for so long, the dashboard itself is gone: there is one at least every two seconds, or every few with many connections.
const SILENCE_MS = 15000;

// Each chart: its title, which value of a point it shows, its unit, and whether the paths add up.
const CHARTS = [
  { title: 'Out, bit/s, uplinks stacked', value: 1, unit: rate, stacked: true },
  { title: 'In, bit/s, uplinks stacked', value: 2, unit: rate, stacked: true },
  { title: 'Round-trip time', value: 3, unit: (ms) => time(ms * 1000) },
  { title: 'Loss', value: 5, unit: (percent) => percent.toFixed(2) + ' %' },
  { title: 'Queue of the line', value: 4, unit: (ms) => time(ms * 1000) },
];

let wanted = new URLSearchParams(location.hash.slice(1)).get('connection');
let span = 600;
let told = null;          // the last state
let heardAt = 0;          // when it came, by this clock
let past = { step: 1, paths: [] };
let events = [];
let stream = null;
let shown = 600;          // the seconds that charts show: no more than there is a history of

function three(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function rate(bits) {
  if (bits < 1000) return String(Math.round(bits));
  let unit = '';
  for (const next of ['k', 'M', 'G', 'T']) {
    if (bits < 999.5) break;
    bits /= 1000;
    unit = next;
  }
  return three(bits) + unit;
}

// "94.1 Mbit/s"
const speed = (bits) => rate(bits).replace(/^([0-9.]+)/, '$1 ') + 'bit/s';

function bytes(count) {
  return rate(count).replace(/^([0-9.]+)/, '$1 ').trim() + 'B';
}

// "82 % of 50.0 GB"
const cap = (it) => `${Math.floor(it.used * 100 / Math.max(1, it.limit))} % of ${bytes(it.limit)}`;

function time(us) {
  return us < 1000 ? Math.round(us) + ' µs' : us < 1e6 ? three(us / 1e3) + ' ms' : three(us / 1e6) + ' s';
}

const orNone = (value, shown) => (value === null || value === undefined ? '–' : shown(value));
const clock = (ms) => new Date(ms).toLocaleTimeString();

// An element with text: nothing that a daemon says is ever taken for HTML.
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function colour(name) {
  const names = past.paths.map((path) => path.name);
  for (const path of told?.selected?.paths ?? []) if (!names.includes(path.name)) names.push(path.name);
  names.sort();
  return COLOURS[Math.max(0, names.indexOf(name)) % COLOURS.length];
}

function show() {
  if (!told) return;
  const silent = Date.now() - heardAt > SILENCE_MS;
  const state = silent ? 'unreachable' : told.state;
  by('state').textContent = state;
  by('state').className = 'state ' + state;
  document.title = `mpt ${state}`;
  const away = by('away');
  away.hidden = state !== 'unreachable';
  if (silent) {
    away.textContent = `The dashboard itself does not answer. Everything below is as of ${clock(heardAt)}.`;
  } else if (state === 'unreachable') {
    const asOf = told.answered_ms === null ? '' : ` Everything below is as of ${clock(told.answered_ms)}.`;
    away.textContent = `The daemon does not answer: ${told.problems.join('; ')}.${asOf}`;
  }
  const sum = (key) => told.connections.reduce((all, it) => all + it[key], 0);
  const daemon = told.daemon ? `mptd ${told.daemon.program}, pid ${told.daemon.pid}` : '';
  by('summary').textContent = `${told.connections.length} connection${told.connections.length === 1 ? '' : 's'}, `
    + `out ${speed(sum('sent_bits_per_second'))}, in ${speed(sum('received_bits_per_second'))}. ${daemon}`;
  const wrong = [...(state === 'unreachable' ? [] : told.problems), ...(told.selected?.problems ?? [])];
  by('problems').replaceChildren(...wrong.map((it) => element('li', it)));
  list();
  detail();
}

function matching() {
  const text = by('search').value.trim().toLowerCase();
  return told ? told.connections.filter((it) => it.name.toLowerCase().includes(text)) : [];
}

function list() {
  const found = matching();
  const listed = found.slice(0, MOST_LISTED);
  const box = by('connections');
  // A row that stays is changed in its place: one that is replaced between press and release would get no click.
  const stay = box.children.length === listed.length && listed.every((it, at) => box.children[at].dataset.name === it.name);
  if (!stay) {
    box.replaceChildren(...listed.map((it) => {
      const row = element('li');
      row.setAttribute('role', 'option');
      row.dataset.name = it.name;
      row.append(element('span', it.name), element('span'));
      return row;
    }));
  }
  listed.forEach((it, at) => {
    const row = box.children[at];
    row.setAttribute('aria-selected', String(it.name === told.selected?.name));
    row.lastChild.textContent = row.lastChild.className = it.state;
  });
  const hidden = found.length - listed.length;
  by('more').textContent = hidden > 0 ? `and ${hidden} more: search for them` : `${found.length} shown`;
}

function detail() {
  const it = told.selected;
  by('name').textContent = it ? it.name : wanted ? `${wanted} is not there` : 'no connection yet';
  by('paths').replaceChildren();
  by('facts').textContent = '';
  if (!it) return;
  const sealed = { aes256_gcm: 'sealed with AES-256-GCM', chacha20_poly1305: 'sealed with ChaCha20-Poly1305',
    waiting: 'no keys yet', refused: 'no data: the peer does not seal', plain_peer: 'NOT sealed: the peer does not seal' };
  by('facts').textContent = [it.state, sealed[it.data] ?? 'not sealed', `${it.mapping} mapping`,
    `device ${it.device}`, it.peer ? `peer ${it.client ? it.client + ' ' : ''}${it.peer}` : 'peer without session'].join(', ');
  by('paths').replaceChildren(...it.paths.map((path) => {
    const row = element('tr');
    const name = element('td', path.name);
    name.style.borderLeft = `.3rem solid ${colour(path.name)}`;
    row.append(name,
      element('td', path.down && path.state === 'down' ? `down (${path.down})` : path.last_resort ? `${path.state} (last resort)` : path.state,
        'state ' + path.state),
      element('td', rate(path.sent_bits_per_second)), element('td', rate(path.received_bits_per_second)),
      element('td', orNone(path.capacity_bits_per_second, (v) => (path.capacity_reached ? '' : '>') + rate(v))),
      element('td', orNone(path.rtt_us, time)), element('td', orNone(path.jitter_us, (us) => (us === 0 ? '<1 ms' : time(us)))),
      element('td', orNone(path.lost_per_million, (v) => (v / 1e4).toFixed(2) + ' %')),
      element('td', orNone(path.queue_us, time)),
      element('td', orNone(path.share_percent, (v) => v + ' %')),
      element('td', orNone(path.cap, cap)),
      element('td', orNone(path.source, String)), element('td', String(path.mtu)));
    return row;
  }));
}

function showEvents() {
  const rows = events.slice(-MOST_EVENTS).reverse().map((it) => {
    const row = element('li');
    const when = element('time', new Date(it.time_ms).toLocaleString());
    when.dateTime = new Date(it.time_ms).toISOString();
    row.append(when, it.text);
    return row;
  });
  by('events').replaceChildren(...rows);
}

// Draws one chart; `end` is the right edge, in seconds since 1970.
function draw(canvas, chart, end) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const to = canvas.getContext('2d');
  to.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const [line, faint, bad] = ['--line', '--faint', '--bad'].map((name) => style.getPropertyValue(name));
  const [left, bottom, top] = [52, height - 18, 8];
  const x = (seconds) => left + (width - left - 6) * (1 - (end - seconds) / shown);
  const step = past.step;

  // Values by the time of their points, so that stacked paths meet.
  const columns = new Map();
  past.paths.forEach((path, number) => {
    for (const point of path.points) {
      if (point[0] < end - shown) continue;
      if (!columns.has(point[0])) columns.set(point[0], new Array(past.paths.length).fill(null));
      columns.get(point[0])[number] = point[chart.value];
    }
  });
  const moments = [...columns.keys()].sort((one, other) => one - other);
  let most = 0;
  for (const values of columns.values()) {
    const total = chart.stacked ? values.reduce((sum, it) => sum + (it ?? 0), 0) : Math.max(0, ...values.map((it) => it ?? 0));
    most = Math.max(most, total);
  }
  const nice = most > 0 ? [1, 2, 5, 10].map((it) => it * 10 ** Math.floor(Math.log10(most))).find((it) => it >= most) : 1;
  const y = (value) => bottom - (bottom - top) * (value / nice);

  to.font = '11px system-ui, sans-serif';
  to.textBaseline = 'middle';
  for (const part of [0, .5, 1]) {
    to.strokeStyle = line;
    to.beginPath();
    to.moveTo(left, y(nice * part));
    to.lineTo(width - 6, y(nice * part));
    to.stroke();
    to.fillStyle = faint;
    to.textAlign = 'right';
    to.fillText(chart.unit(nice * part), left - 5, y(nice * part));
  }
  const precise = shown < 300 ? { second: '2-digit' } : {};
  for (const [part, align] of [[0, 'left'], [.5, 'center'], [1, 'right']]) {
    const seconds = end - shown * (1 - part);
    const text = new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', ...precise });
    to.textAlign = align;
    to.fillText(text, x(seconds), height - 8);
  }

  // Runs of points without a gap: what was not measured is not drawn.
  const runs = (number) => {
    const all = [];
    let run = [];
    let before = -Infinity;
    for (const moment of moments) {
      const value = columns.get(moment)[number];
      if (value === null) continue;
      if (moment - before > 3 * step) all.push(run = []);
      run.push(moment);
      before = moment;
    }
    return all;
  };
  const below = new Map(moments.map((moment) => [moment, 0]));
  past.paths.forEach((path, number) => {
    to.strokeStyle = to.fillStyle = colour(path.name);
    for (const run of runs(number)) {
      const value = (moment) => columns.get(moment)[number];
      to.beginPath();
      if (chart.stacked) {
        for (const moment of run) to.lineTo(x(moment), y(below.get(moment) + value(moment)));
        for (const moment of [...run].reverse()) to.lineTo(x(moment), y(below.get(moment)));
        to.closePath();
        to.globalAlpha = .75;
        to.fill();
        to.globalAlpha = 1;
      } else {
        for (const moment of run) to.lineTo(x(moment), y(value(moment)));
        to.lineWidth = 1.5;
        to.stroke();
        to.lineWidth = 1;
      }
      if (chart.stacked) for (const moment of run) below.set(moment, below.get(moment) + value(moment));
    }
  });

  // Events stand on the time axis.
  to.fillStyle = bad;
  for (const event of events) {
    const seconds = event.time_ms / 1000;
    if (seconds < end - shown || seconds > end) continue;
    to.beginPath();
    to.moveTo(x(seconds), bottom - 6);
    to.lineTo(x(seconds) - 4, bottom);
    to.lineTo(x(seconds) + 4, bottom);
    to.fill();
  }
  const last = past.paths.map((path) => `${path.name} ${orNone(path.points.at(-1)?.[chart.value], chart.unit)}`);
  canvas.setAttribute('aria-label', `${chart.title}: ${last.join(', ')}`);
}

function drawAll() {
  const end = told ? told.time_ms / 1000 : Date.now() / 1000;
  const first = Math.min(...past.paths.map((path) => path.points[0][0]));
  shown = Math.min(span, Math.max(60, end - first));
  if (past.paths.length === 0) shown = span;
  CHARTS.forEach((chart, number) => draw(by('chart' + number), chart, end));
  const none = 'There is no history of this connection: only 256 paths at one time have one.';
  by('legend').replaceChildren(...past.paths.length === 0 ? [none] : past.paths.map((path) => {
    const entry = element('span');
    const mark = element('i');
    mark.style.background = colour(path.name);
    entry.append(mark, path.name);
    return entry;
  }));
}

let asked = 0;
async function ask() {
  const name = told?.selected?.name;
  if (!name) return;
  const question = ++asked;
  try {
    const answer = await fetch(`history?${new URLSearchParams({ connection: name, span })}`);
    const body = await answer.json();
    // Another one may have been asked meanwhile.
    if (question !== asked) return;
    past = body;
    drawAll();
  } catch {
    // The stream tells that the dashboard is gone.
  }
}

function look(name) {
  wanted = name;
  location.hash = new URLSearchParams({ connection: name });
  past = { step: 1, paths: [] };
  connect();
}

function connect() {
  stream?.close();
  events = [];
  let lastAsked = 0;
  stream = new EventSource('events' + (wanted === null ? '' : '?' + new URLSearchParams({ connection: wanted })));
  // A stream that begins anew tells all events again.
  stream.onopen = () => { events = []; };
  stream.onmessage = (message) => {
    told = JSON.parse(message.data);
    heardAt = Date.now();
    events = [...events, ...told.events].slice(-500);
    show();
    if (told.events.length > 0 || events.length === 0) showEvents();
    // Long spans change slowly.
    if (heardAt - lastAsked >= (span > 600 ? 5000 : 900)) {
      lastAsked = heardAt;
      ask();
    }
  };
}

function setSpan(button) {
  span = Number(button.dataset.span);
  for (const other of by('spans').children) other.setAttribute('aria-pressed', String(other === button));
  ask();
}

function move(by_) {
  const found = matching();
  const at = found.findIndex((it) => it.name === told?.selected?.name);
  const next = found[Math.min(found.length - 1, Math.max(0, at + by_))];
  if (next && next.name !== told?.selected?.name) look(next.name);
}

CHARTS.forEach((chart, number) => {
  const figure = element('figure');
  const canvas = element('canvas');
  canvas.id = 'chart' + number;
  canvas.setAttribute('role', 'img');
  figure.append(element('figcaption', chart.title), canvas);
  by('charts').append(figure);
});
by('search').addEventListener('input', list);
by('connections').addEventListener('click', (event) => {
  const row = event.target.closest('li');
  if (row) look(row.dataset.name);
});
by('connections').addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') move(1); else if (event.key === 'ArrowUp') move(-1); else return;
  event.preventDefault();
});
by('spans').addEventListener('click', (event) => { if (event.target.dataset.span) setSpan(event.target); });
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.tagName === 'INPUT') {
    if (event.key === 'Escape') event.target.blur();
    if (event.key === 'Enter') { const [first] = matching(); if (first) look(first.name); }
    return;
  }
  if (event.key === '/') { by('search').focus(); event.preventDefault(); }
  else if (event.key === 'j') move(1);
  else if (event.key === 'k') move(-1);
  else if ('123'.includes(event.key)) setSpan(by('spans').children[Number(event.key) - 1]);
});
window.addEventListener('resize', drawAll);
setInterval(show, 1000);
connect();
