'use strict';
(async () => {
const $ = id => document.getElementById(id), root = document.documentElement, flow = $('flow');
const parsed = document.readyState === 'loading' ? new Promise(done => addEventListener('DOMContentLoaded', done, {once: true})) : Promise.resolve();

/* The compressed data of the page, decompressed on demand. */
const bytes = text => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) out[at] = raw.charCodeAt(at);
  return out;
};
const unpack = text => new Response(new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
const kept = new Map();
const load = id => {
  if (!kept.has(id)) kept.set(id, (async () => {
    if (!$(id)) await parsed;
    const el = $(id);
    return el ? unpack(el.textContent) : '';
  })());
  return kept.get(id);
};
const index = JSON.parse(await load('ix'));
const {k: looks, f: flags, q: seqs, l: lines, t: times, u: turns, o: tool, tools, r: results, b: firsts, h: heights, x: extras} = index;
const count = seqs.length;

/* Blocks: drawn when they come near the viewport. */
const blocks = firsts.map((first, at) => {
  const el = document.createElement('div');
  el.className = 'b';
  el.style.height = heights[at] + 'px';
  el.dataset.b = at;
  flow.append(el);
  return {el, first, end: at + 1 < firsts.length ? firsts[at + 1] : count, drawn: null};
});
const blockOf = n => {
  let low = 0, high = firsts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (firsts[middle] <= n) low = middle; else high = middle - 1;
  }
  return low;
};
let openAll = false, playing = -1;
const seen = new Uint8Array(count);
for (let n = 0; n < count; n++) seen[n] = flags[n] & 4 ? 0 : 1;
const apply = at => {
  const block = blocks[at];
  for (const el of block.el.querySelectorAll('.i[data-n]')) {
    const n = +el.dataset.n;
    el.classList.toggle('hide', !seen[n] || (playing >= 0 && n > playing));
  }
};
const draw = at => {
  const block = blocks[at];
  return block.drawn ??= load('b' + at).then(html => {
    block.el.innerHTML = html;
    block.el.classList.add('drawn');
    block.el.style.height = '';
    apply(at);
    if (openAll) for (const one of block.el.querySelectorAll('details')) one.open = true;
    dress(block.el);
    markSoon();
  });
};
const extra = async number => {
  for (const el of document.querySelectorAll(`[data-x="${number}"]`)) {
    if (el.dataset.done) continue;
    el.dataset.done = 1;
    const html = await load('x' + number), box = document.createElement('div');
    box.innerHTML = html;
    if (el.tagName === 'BUTTON') el.replaceWith(box); else { el.append(box); el.open = true; }
    dress(box);
    markSoon();
  }
};
const watch = new IntersectionObserver(all => {
  for (const one of all) if (one.isIntersecting) draw(+one.target.dataset.b);
}, {rootMargin: '900px 0px'});
for (const block of blocks) watch.observe(block.el);

/* Syntax colours and line numbers. */
const words = text => new Set(text.split(' '));
const COMMON = 'if else for while return break continue switch case default try catch finally throw new class import from in of do null true false';
const TONGUES = {
  rs: [words('fn let mut pub use mod struct enum impl trait for in if else match return self Self crate super where as const static ref move async await loop while break continue dyn type unsafe true false'), 'c'],
  js: [words(COMMON + ' function const let var async await export extends this typeof instanceof undefined yield static get set interface type enum implements readonly void delete super'), 'c'],
  c: [words(COMMON + ' int char void long short double float bool const static struct enum public private protected final var val fun func let override interface extends implements namespace using template typename auto unsigned string this super package'), 'c'],
  go: [words('func package import var const type struct interface map chan go defer select range return if else for switch case default break continue nil true false error string int bool byte'), 'c'],
  py: [words('def class import from as if elif else for while return yield try except finally raise with lambda in is not and or None True False self async await pass break continue global nonlocal assert del'), 'h'],
  rb: [words('def class module end if elsif else unless while do return yield begin rescue ensure nil true false self require attr_accessor puts and or not then'), 'h'],
  sh: [words('if then else elif fi for while do done case esac in function return export local set unset echo cd exit source sudo'), 'h'],
  sql: [words('select from where insert into update delete create table join left right inner outer on group by order limit and or not null values set as distinct having union index primary key'), 's'],
  lua: [words('function local end if then else elseif for while do return nil true false and or not repeat until in'), 's'],
  css: [words('important media from to'), 'k'], json: [words('true false null'), '-'], yaml: [words('true false null yes no on off'), 'h'], xml: [words(''), 'x'], diff: [words(''), 'd']
};
const NOTES = {c: '\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?\\*\\/', h: '(?<=^|\\s)#[^\\n]*', s: '--[^\\n]*', k: '\\/\\*[\\s\\S]*?\\*\\/', x: '<!--[\\s\\S]*?-->', d: '(?!)', '-': '(?!)'};
const rules = {};
const rule = tongue => rules[tongue] ??= new RegExp(
  `(${NOTES[TONGUES[tongue][1]]})|("(?:\\\\.|[^"\\\\\\n])*"|` + (tongue === 'rs' ? "'(?:\\\\.|[^'\\\\\\n])'" : "'(?:\\\\.|[^'\\\\\\n])*'") + '|`(?:\\\\.|[^`\\\\])*`)|' +
  '(\\b\\d[\\w.]*\\b)|(' + (tongue === 'xml' ? '</?[\\w:-]+|/?>' : '[A-Za-z_$@][\\w$]*') + ')', 'gm');
const colour = code => {
  const tongue = code.dataset.l, text = code.textContent;
  code.removeAttribute('data-l');
  if (!TONGUES[tongue] || text.length > 60000) return;
  const out = document.createDocumentFragment();
  const put = (text, name) => {
    if (!text) return;
    if (!name) return out.append(text);
    const el = document.createElement('span');
    el.className = name;
    el.textContent = text;
    out.append(el);
  };
  if (tongue === 'diff') {
    for (const line of text.split(/(?<=\n)/)) put(line, line[0] === '+' ? 'c2' : line[0] === '-' ? 'c1' : line[0] === '@' ? 'hf' : '');
    return code.replaceChildren(out);
  }
  let done = 0;
  for (const hit of text.matchAll(rule(tongue))) {
    const [all, note, string, number, word] = hit, end = hit.index + all.length;
    let name = '';
    if (note) name = 'hc';
    else if (string) name = tongue === 'json' && /^\s*:/.test(text.slice(end, end + 8)) ? 'hf' : 'hs';
    else if (number) name = 'hn';
    else if (tongue === 'xml') name = 'hk';
    else if (TONGUES[tongue][0].has(tongue === 'sql' ? word.toLowerCase() : word)) name = 'hk';
    else if (text[end] === '(' || (tongue === 'yaml' && /[:=]/.test(text[end] || '')) || (tongue === 'rs' && text[end] === '!')) name = 'hf';
    if (!name) continue;
    put(text.slice(done, hit.index));
    put(all, name);
    done = end;
  }
  put(text.slice(done));
  code.replaceChildren(out);
};
const dress = box => {
  for (const code of box.querySelectorAll('code[data-l]')) {
    if (!code.closest('details:not([open])')) colour(code);
  }
  for (const pre of box.querySelectorAll('pre[data-s]')) {
    const code = pre.querySelector('code'), first = +pre.dataset.s;
    pre.removeAttribute('data-s');
    if (!code) continue;
    const numbers = document.createElement('span'), many = code.textContent.replace(/\n$/, '').split('\n').length;
    numbers.className = 'ln';
    numbers.setAttribute('aria-hidden', 'true');
    numbers.textContent = Array.from({length: many}, (_, at) => first + at).join('\n');
    pre.prepend(numbers);
    pre.dataset.lined = '';
  }
};
flow.addEventListener('toggle', event => {
  const el = event.target;
  if (el.tagName !== 'DETAILS' || !el.open) return;
  if (el.dataset.x && !el.dataset.done) extra(el.dataset.x);
  dress(el);
  markSoon();
}, true);
flow.addEventListener('click', event => {
  const button = event.target.closest('button.more');
  if (button) extra(button.dataset.x);
});

/* Navigation. */
const top = () => $('bar').offsetHeight;
let current = -1;
const elementOf = n => blocks[blockOf(n)].el.querySelector(`.i[data-n="${n}"]`);
const setCurrent = (n, el) => {
  for (const old of document.querySelectorAll('.i.cur')) old.classList.remove('cur');
  current = n;
  (el || elementOf(n))?.classList.add('cur');
  paint();
};
let going = 0;
const show = async n => {
  const ticket = ++going, at = blockOf(n);
  await Promise.all([at - 1, at, at + 1].filter(one => blocks[one]).map(draw));
  return ticket === going ? elementOf(n) : null;
};
const scrollTo = (el, place) => {
  el.scrollIntoView({block: place || 'start'});
  requestAnimationFrame(() => el.scrollIntoView({block: place || 'start'}));
};
const go = async (n, place) => {
  if (n < 0 || n >= count) return null;
  if (!seen[n]) { seen[n] = 1; blocks[blockOf(n)].el.classList.remove('hide'); }
  const el = await show(n);
  if (!el) return null;
  el.classList.remove('hide');
  setCurrent(n, el);
  const section = el.parentElement, first = section.id && section.querySelector('.i') === el;
  scrollTo(first && !place ? section : el, place);
  return el;
};
const ofSeq = seq => {
  const at = seqs.indexOf(seq);
  if (at >= 0) return at;
  const result = results.find(one => one[0] === seq);
  return result ? result[2] : -1;
};
const ofLine = line => {
  const result = results.find(one => one[1] === line);
  if (result) return result[2];
  let best = -1;
  for (let n = 0; n < count; n++) if (lines[n] <= line && (best < 0 || lines[n] >= lines[best])) best = n;
  return best;
};
const ofTurn = turn => {
  const at = turns.findIndex((of, n) => of === turn && seen[n]);
  return at >= 0 ? at : turns.indexOf(turn);
};
const goHash = async () => {
  const hash = location.hash.slice(1);
  let hit;
  if ((hit = /^q=(.+)$/.exec(hash))) {
    try { $('q').value = decodeURIComponent(hit[1]); } catch { return; }
    searched = ask();
    return step(1);
  }
  if ((hit = /^t(\d+)$/.exec(hash))) return go(ofTurn(+hit[1]));
  if ((hit = /^L(\d+)$/.exec(hash))) return unfold(await go(ofLine(+hit[1])));
  if ((hit = /^e(\d+)$/.exec(hash))) return unfold(await go(ofSeq(+hit[1])));
  if ((hit = /^s(\d+)e\d+$/.exec(hash))) {
    await unfold(await go(extras[+hit[1]]));
    await extra(+hit[1]);
    const el = $(hash);
    if (el) { openAround(el); el.querySelector('details')?.setAttribute('open', ''); scrollTo(el); }
  }
};
const unfold = async el => {
  const one = el?.querySelector('details');
  if (one) one.open = true;
  return el;
};
const openAround = node => {
  for (let el = node.parentElement; el && el !== flow; el = el.parentElement) if (el.tagName === 'DETAILS') el.open = true;
};
addEventListener('hashchange', goHash);
document.addEventListener('click', event => {
  const link = event.target.closest('a[href^="#"]');
  if (!link || link.classList.contains('skip')) return;
  $('outline').classList.remove('show');
  $('menu').setAttribute('aria-expanded', 'false');
  if (link.getAttribute('href') === location.hash) { event.preventDefault(); goHash(); }
});

/* The activity strip: one cell per step. */
const strip = $('strip'), pen = strip.getContext('2d');
let cells = {width: 1, rows: 1, per: 1};
const RANK = 'ntoasgevp';
const paint = () => {
  const width = Math.max(1, strip.clientWidth), scale = devicePixelRatio || 1, style = getComputedStyle(root);
  const hues = {};
  for (const look of 'patsveogn') hues[look] = style.getPropertyValue('--k' + look);
  const wrong = style.getPropertyValue('--kx'), ink = style.getPropertyValue('--ink');
  let rows = 1;
  while (rows < 4 && count / rows > width / 3) rows++;
  const per = Math.ceil(count / rows), cell = Math.min(14, width / Math.max(1, per)), high = rows > 1 ? 6 : 10;
  cells = {width: cell, rows, per, high};
  strip.width = width * scale;
  strip.height = (rows * high + 3) * scale;
  strip.style.height = rows * high + 3 + 'px';
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const rank = n => flags[n] & 1 ? 99 : RANK.indexOf(looks[n]);
  const taken = new Map();
  for (let n = 0; n < count; n++) {
    const x = (n % per) * cell, y = Math.floor(n / per) * high;
    if (cell < 1) {
      const key = Math.floor(x) + ',' + y;
      if (taken.has(key) && taken.get(key) >= rank(n)) continue;
      taken.set(key, rank(n));
    }
    pen.globalAlpha = seen[n] ? 1 : .25;
    pen.fillStyle = flags[n] & 1 ? wrong : hues[looks[n]];
    pen.fillRect(x, y, Math.max(1, cell - (cell > 3 ? 1 : 0)), high - 1);
  }
  pen.globalAlpha = 1;
  if (current >= 0) {
    pen.fillStyle = ink;
    pen.fillRect((current % per) * cell, Math.floor(current / per) * high + high - 1, Math.max(3, cell), 3);
  }
  root.style.setProperty('--top', top() + 'px');
};
const cellAt = event => {
  const box = strip.getBoundingClientRect();
  const row = Math.min(cells.rows - 1, Math.floor((event.clientY - box.top) / cells.high));
  return Math.min(count - 1, row * cells.per + Math.min(cells.per - 1, Math.floor((event.clientX - box.left) / cells.width)));
};
const WORDS = {p: 'prompt', a: 'answer', t: 'thinking', s: 'shell', v: 'test', e: 'edit', o: 'tool', g: 'agent', n: 'harness'};
strip.addEventListener('click', event => { const n = cellAt(event); if (n >= 0) { go(n); history.replaceState(history.state, '', '#e' + seqs[n]); } });
strip.addEventListener('mousemove', event => {
  const n = cellAt(event);
  if (n >= 0) strip.title = `${WORDS[looks[n]]}${tool[n] >= 0 ? ' · ' + tools[tool[n]] : ''}${turns[n] ? ' · turn ' + turns[n] : ''}${flags[n] & 1 ? ' · failed' : ''}`;
});
addEventListener('resize', () => paint());

/* Filters. */
const chips = [...document.querySelectorAll('[data-k]')];
const counted = {};
for (let n = 0; n < count; n++) if (!(flags[n] & 4)) counted[looks[n]] = (counted[looks[n]] || 0) + 1;
for (const chip of chips) {
  chip.parentElement.querySelector('small').textContent = counted[chip.dataset.k] || 0;
  chip.parentElement.hidden = !counted[chip.dataset.k];
}
tools.map((name, at) => [name, at]).sort((a, b) => a[0] < b[0] ? -1 : 1).forEach(([name, at]) => {
  const option = document.createElement('option');
  option.value = at;
  option.textContent = name.length > 40 ? name.slice(0, 40) + '…' : name;
  $('tool').append(option);
});
const filter = () => {
  const on = new Set(chips.filter(chip => chip.checked).map(chip => chip.dataset.k));
  const mine = $('mine').checked, errors = $('errors').checked, only = $('only').checked && asked, one = +$('tool').value;
  const quiet = on.size === chips.length && !mine && !errors && one < 0;
  let shown = 0;
  for (let n = 0; n < count; n++) {
    let is = on.has(looks[n]) && !(flags[n] & 4);
    if (mine) is = !!(flags[n] & 2);
    if (errors) is = is && !!(flags[n] & 1);
    if (one >= 0) is = is && tool[n] === one;
    if (only) is = is && found.has(n);
    seen[n] = is ? 1 : 0;
    shown += seen[n];
  }
  for (let at = 0; at < blocks.length; at++) {
    const block = blocks[at];
    let some = 0;
    for (let n = block.first; n < block.end; n++) some += seen[n];
    block.el.classList.toggle('hide', !some);
    if (block.el.classList.contains('drawn')) apply(at);
    else block.el.style.height = Math.max(40, heights[at] * some / Math.max(1, block.end - block.first)) + 'px';
  }
  $('shown').textContent = quiet && !only ? '' : `${shown} of ${count} steps`;
  root.style.setProperty('--top', top() + 'px');
  paint();
};
$('filters').addEventListener('change', () => { filter(); tally(); });
const showAll = () => {
  for (const chip of chips) chip.checked = true;
  for (const id of ['mine', 'errors', 'only']) $(id).checked = false;
  $('tool').value = -1;
  filter();
  tally();
};
$('all').addEventListener('click', showAll);
const toggleFilters = () => {
  $('filters').hidden = !$('filters').hidden;
  $('filter').setAttribute('aria-expanded', String(!$('filters').hidden));
  paint();
};
$('filter').addEventListener('click', toggleFilters);

/* Search: covers all blocks, including those not drawn yet. */
const CHROME = /<summary>[\s\S]*?<\/summary>|<a class="at"[\s\S]*?<\/a>|<header>[\s\S]*?<\/header>|<h2>[\s\S]*?<\/h2>|<button[\s\S]*?<\/button>/g;
const ENTITIES = {'&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'"};
const plain = html => html.replace(CHROME, '').replace(/<[^>]*>/g, '').replace(/&(?:lt|gt|amp|quot|#39);/g, one => ENTITIES[one]);
const texts = new Map();
const textOf = async id => {
  if (!texts.has(id)) {
    const html = await load(id);
    texts.set(id, id[0] === 'x' ? [plain(html)] : html.split('<article class="i ').slice(1).map(one => plain('<i class="' + one)));
  }
  return texts.get(id);
};
let asked = null, found = new Map(), order = [], total = 0, at = -1, search = 0, searched = Promise.resolve();
const matches = text => {
  let many = 0;
  asked.lastIndex = 0;
  for (const hit of text.matchAll(asked)) if (hit[0]) many++;
  return many;
};
const tally = () => {
  order = [...found.keys()].filter(n => seen[n]).sort((a, b) => a - b);
  total = order.reduce((sum, n) => sum + found.get(n).hits, 0);
  at = Math.min(at, total - 1);
  const none = !asked || !total;
  $('prev').disabled = $('next').disabled = none;
  $('hits').textContent = !asked ? '' : at >= 0 ? `${at + 1} of ${total}` : total === 1 ? '1 hit' : `${total} hits`;
};
const ask = async () => {
  const ticket = ++search, text = $('q').value;
  found = new Map();
  at = -1;
  asked = null;
  if (text) {
    try {
      const source = $('re').getAttribute('aria-pressed') === 'true' ? text : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      asked = new RegExp(source, $('cs').getAttribute('aria-pressed') === 'true' ? 'g' : 'gi');
    } catch {
      tally();
      $('hits').textContent = 'no valid expression';
      return mark();
    }
    const add = (n, hits, id) => {
      if (!hits) return;
      const one = found.get(n) || {hits: 0, extras: []};
      one.hits += hits;
      if (id !== undefined) one.extras.push(id);
      found.set(n, one);
    };
    let last = performance.now();
    const rest = async () => {
      if (performance.now() - last < 30) return;
      tally();
      await new Promise(done => setTimeout(done));
      last = performance.now();
    };
    for (let b = 0; b < blocks.length; b++) {
      const all = await textOf('b' + b);
      if (ticket !== search) return;
      all.forEach((text, place) => add(blocks[b].first + place, matches(text)));
      await rest();
    }
    for (let x = 0; x < extras.length; x++) {
      const [text] = await textOf('x' + x);
      if (ticket !== search) return;
      add(extras[x], matches(text), x);
      await rest();
    }
    if (ticket !== search) return;
  }
  if ($('only').checked) filter();
  tally();
  mark();
};
const later = (run, ms) => { let timer; return () => { clearTimeout(timer); timer = setTimeout(run, ms); }; };
const rangesIn = el => {
  const walk = document.createTreeWalker(el, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node =>
    node.nodeType === 3 ? NodeFilter.FILTER_ACCEPT : node.matches('summary,.at,header,h2,button,.ln') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP);
  const nodes = [];
  let text = '';
  for (let node; (node = walk.nextNode());) { nodes.push([text.length, node]); text += node.data; }
  const ranges = [];
  let place = 0;
  for (const hit of text.matchAll(asked)) {
    if (!hit[0]) continue;
    while (place + 1 < nodes.length && nodes[place + 1][0] <= hit.index) place++;
    let last = place;
    const end = hit.index + hit[0].length;
    while (last + 1 < nodes.length && nodes[last + 1][0] < end) last++;
    const range = new Range();
    range.setStart(nodes[place][1], hit.index - nodes[place][0]);
    range.setEnd(nodes[last][1], end - nodes[last][0]);
    ranges.push(range);
    if (ranges.length > 5000) break;
  }
  return ranges;
};
const mark = () => {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete('hit');
  if (!asked) return CSS.highlights.delete('on');
  const all = new Highlight();
  for (const n of order.slice(0, 20000)) {
    const block = blocks[blockOf(n)];
    if (!block.el.classList.contains('drawn') || all.size > 5000) continue;
    const el = elementOf(n);
    if (el) for (const range of rangesIn(el)) all.add(range);
  }
  CSS.highlights.set('hit', all);
};
const markSoon = later(mark, 60);
const step = async by => {
  await searched;
  if (!total) return;
  at = (at + by + total) % total;
  if (by < 0 && at < 0) at = total - 1;
  tally();
  let left = at, n = order[0];
  for (n of order) {
    const {hits} = found.get(n);
    if (left < hits) break;
    left -= hits;
  }
  const el = await go(n, 'nearest');
  if (!el) return;
  for (let round = 0; round < 8; round++) {
    const waiting = found.get(n).extras.filter(x => el.querySelector(`[data-x="${x}"]:not([data-done])`));
    if (!waiting.length) break;
    for (const x of waiting) await extra(x);
  }
  const ranges = rangesIn(el), range = ranges[Math.min(left, ranges.length - 1)];
  if (!range) return;
  openAround(range.startContainer);
  if (globalThis.CSS?.highlights) {
    const on = new Highlight(range);
    on.priority = 1;
    CSS.highlights.set('on', on);
  }
  mark();
  requestAnimationFrame(() => {
    const box = range.getBoundingClientRect(), inner = range.startContainer.parentElement.closest('pre,.res');
    if (inner) {
      const frame = inner.getBoundingClientRect();
      if (box.top < frame.top || box.bottom > frame.bottom) inner.scrollTop += box.top - frame.top - inner.clientHeight / 2;
    }
    const now = range.getBoundingClientRect();
    if (now.top < top() + 20 || now.bottom > innerHeight - 40) scrollBy(0, now.top - innerHeight / 2);
  });
};
const askSoon = later(() => { searched = ask(); }, 140);
$('q').addEventListener('input', askSoon);
$('find').addEventListener('submit', event => { event.preventDefault(); step(1); });
$('q').addEventListener('keydown', event => {
  if (event.key === 'Enter') { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
  if (event.key === 'Escape') { $('q').value = ''; searched = ask(); $('q').blur(); }
});
$('next').addEventListener('click', () => step(1));
$('prev').addEventListener('click', () => step(-1));
for (const id of ['re', 'cs']) $(id).addEventListener('click', () => {
  $(id).setAttribute('aria-pressed', String($(id).getAttribute('aria-pressed') !== 'true'));
  searched = ask();
});

/* Folding. */
const fold = () => {
  openAll = !openAll;
  $('fold').textContent = openAll ? 'Close all' : 'Open all';
  $('fold').setAttribute('aria-pressed', String(openAll));
  for (const one of flow.querySelectorAll('details')) one.open = openAll;
  // Draw immediately, because the browser fires `toggle` later, and not at all if the element was closed again meanwhile.
  if (openAll) dress(flow);
};
$('fold').addEventListener('click', fold);

/* Theme. */
const THEMES = ['', 'light', 'dark'];
const setTheme = theme => {
  root.classList.remove('light', 'dark');
  if (theme) root.classList.add(theme);
  try { localStorage.setItem('boswell-theme', theme); } catch { /* storage is disabled */ }
  paint();
};
try { const theme = localStorage.getItem('boswell-theme'); if (THEMES.includes(theme) && theme) root.classList.add(theme); } catch { /* storage is disabled */ }
const nextTheme = () => {
  const dark = matchMedia('(prefers-color-scheme:dark)').matches, now = root.classList.contains('dark') ? 'dark' : root.classList.contains('light') ? 'light' : dark ? 'dark' : 'light';
  setTheme(now === 'dark' ? 'light' : 'dark');
};
$('theme').addEventListener('click', nextTheme);

/* The player: steps appear at their recorded pace, with long waits shortened. */
let timer = 0, paused = true;
const WAIT = 1600, BREATH = 220;
const clock = n => {
  if (times[n] < 0) return '';
  const all = times[n], two = number => String(number).padStart(2, '0');
  return `${Math.floor(all / 3600)}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}`;
};
const place = async (n, note) => {
  const before = playing;
  playing = n;
  $('pos').value = n;
  $('when').textContent = note || clock(n);
  for (let b = 0; b < blocks.length; b++) {
    const block = blocks[b], after = block.first > n;
    block.el.classList.toggle('late', after);
    block.el.hidden = after;
    if (block.el.classList.contains('drawn') && !after && (b === blockOf(n) || before < 0 || before > n || block.end > before)) apply(b);
  }
  const el = await show(n);
  if (!el || playing !== n) return;
  apply(blockOf(n));
  if (el.classList.contains('hide')) return;
  setCurrent(n, el);
  el.scrollIntoView({block: 'nearest'});
  const box = el.getBoundingClientRect();
  if (box.bottom > innerHeight - 90) scrollBy(0, Math.min(box.bottom - innerHeight + 120, box.top - top() - 12));
};
const nextSeen = n => { do n++; while (n < count && !seen[n]); return n; };
const tick = async () => {
  const n = nextSeen(playing);
  if (n >= count) return pause();
  const waited = Math.max(0, times[n] - Math.max(0, times[playing])), speed = +$('speed').value;
  const cut = waited * 1000 / speed > WAIT && waited > 20;
  await place(n, cut ? `${clock(n)} · ${waited > 90 ? Math.round(waited / 60) + ' min' : waited + ' s'} cut` : '');
  if (paused) return;
  const following = nextSeen(n), ahead = following < count ? Math.max(0, times[following] - times[n]) * 1000 : 0;
  timer = setTimeout(tick, Math.min(WAIT, Math.max(BREATH, ahead)) / speed);
};
const pause = () => { paused = true; clearTimeout(timer); $('ppause').classList.add('paused'); };
const play = () => {
  if (playing < 0) {
    $('player').hidden = false;
    $('pos').max = count - 1;
    playing = -1;
    place(nextSeen(Math.max(-1, current - 1)));
  }
  paused = false;
  $('ppause').classList.remove('paused');
  clearTimeout(timer);
  timer = setTimeout(tick, BREATH);
};
const stop = () => {
  pause();
  playing = -1;
  $('player').hidden = true;
  for (let b = 0; b < blocks.length; b++) { blocks[b].el.hidden = false; apply(b); }
};
const chapter = by => {
  const turn = turns[Math.max(0, playing)];
  let n = playing;
  if (by > 0) { while (n < count && turns[n] === turn) n++; } else {
    while (n >= 0 && turns[n] === turn) n--;
    const wanted = playing - n > 2 ? turn : turns[Math.max(0, n)];
    n = turns.indexOf(wanted);
  }
  place(Math.min(count - 1, Math.max(0, n)));
};
$('play').addEventListener('click', () => paused ? play() : pause());
$('ppause').addEventListener('click', () => paused ? play() : pause());
$('pstop').addEventListener('click', stop);
$('pback').addEventListener('click', () => chapter(-1));
$('pnext').addEventListener('click', () => chapter(1));
$('pos').addEventListener('input', () => place(+$('pos').value));

/* Keys. */
const help = () => { const box = $('keys'); if (box.open) box.close(); else box.showModal(); };
$('help').addEventListener('click', help);
const here = () => {
  if (current >= 0) { const box = elementOf(current)?.getBoundingClientRect(); if (box && box.bottom > 0 && box.top < innerHeight) return current; }
  for (const el of document.elementsFromPoint(Math.min(innerWidth / 2, 600), top() + 24)) { const one = el.closest?.('.i[data-n]'); if (one) return +one.dataset.n; }
  for (const block of blocks) if (block.el.getBoundingClientRect().bottom > top()) return block.first - 1;
  return -1;
};
const move = (by, fits) => {
  let n = here();
  do n += by; while (n >= 0 && n < count && !(seen[n] && (!fits || fits(n))));
  if (n >= 0 && n < count) go(n, fits ? 'start' : 'nearest');
};
const begins = n => turns[n] && (n === 0 || turns[n - 1] !== turns[n]);
const KEYS = {
  '/': () => { $('q').focus(); $('q').select(); }, n: () => step(1), N: () => step(-1), j: () => move(1), k: () => move(-1),
  J: () => move(1, begins), K: () => move(-1, begins), e: () => move(1, n => flags[n] & 1), x: fold, f: toggleFilters, p: () => paused ? play() : pause(), t: nextTheme, '?': help,
  m: () => { $('mine').checked = !$('mine').checked; filter(); tally(); },
  o: () => { const one = current >= 0 && elementOf(current)?.querySelector('details'); if (one) one.open = !one.open; },
  Escape: () => { if (playing >= 0) stop(); else if (asked) { $('q').value = ''; searched = ask(); } }
};
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input,select,textarea,dialog')) return;
  const run = KEYS[event.key];
  if (run) { event.preventDefault(); run(); }
});
$('menu').addEventListener('click', () => {
  const is = $('outline').classList.toggle('show');
  $('menu').setAttribute('aria-expanded', String(is));
});

/* Marks the current turn in the outline. */
const links = new Map([...document.querySelectorAll('#outline a')].map(a => [+a.getAttribute('href').slice(2), a]));
let lit = null;
const follow = later(() => {
  const n = (() => {
    for (const el of document.elementsFromPoint(Math.min(innerWidth / 2, 600), Math.min(innerHeight - 10, top() + 90))) {
      const one = el.closest?.('.i[data-n]');
      if (one) return +one.dataset.n;
    }
    return -1;
  })();
  if (n < 0) return;
  const link = links.get(turns[n]);
  if (link === lit) return;
  lit?.classList.remove('on');
  lit?.removeAttribute('aria-current');
  lit = link;
  lit?.classList.add('on');
  lit?.setAttribute('aria-current', 'true');
  if (lit && getComputedStyle($('outline')).position === 'sticky') lit.scrollIntoView({block: 'nearest'});
}, 80);
addEventListener('scroll', follow, {passive: true});

/* Printing: all blocks are drawn and opened, because paper cannot scroll. */
addEventListener('beforeprint', () => {
  for (let b = 0; b < blocks.length; b++) if (!blocks[b].el.classList.contains('drawn') && ready.has(b)) {
    blocks[b].el.innerHTML = ready.get(b);
    blocks[b].el.classList.add('drawn');
    blocks[b].el.style.height = '';
    blocks[b].drawn = Promise.resolve();
    apply(b);
    dress(blocks[b].el);
  }
});
const ready = new Map();

/* A running session: the page reloads itself and keeps its position. */
const state = () => {
  const n = here(), near = one => Math.abs(blockOf(+one.parentElement.dataset.n) - blockOf(Math.max(0, n))) < 3;
  const folds = [...flow.querySelectorAll('.i[data-n]>details')].filter(near).map(one => [+one.parentElement.dataset.n, one.open]);
  return {
  n, current, dy: elementOf(Math.max(0, n))?.getBoundingClientRect().top ?? 0, all: openAll, end: innerHeight + scrollY > document.body.scrollHeight - 60, open: folds,
  q: $('q').value, off: chips.filter(chip => !chip.checked).map(chip => chip.dataset.k), ticks: ['mine', 'errors', 'only'].filter(id => $(id).checked), tool: tools[+$('tool').value] ?? '', filters: !$('filters').hidden
  };
};
const back = async was => {
  if (was.all) fold();
  for (const chip of chips) chip.checked = !was.off.includes(chip.dataset.k);
  for (const id of was.ticks) $(id).checked = true;
  if (was.tool) $('tool').value = tools.indexOf(was.tool);
  if (was.filters) toggleFilters();
  if (was.q) { $('q').value = was.q; searched = ask(); await searched; }
  filter();
  tally();
  if (was.current >= 0 && was.current < count) { await draw(blockOf(was.current)); setCurrent(was.current); }
  for (const [n, is] of was.open) if (n < count) { await draw(blockOf(n)); const one = elementOf(n)?.querySelector('details'); if (one) one.open = is; }
  if (was.end && count) { await show(count - 1); return window.scrollTo(0, document.body.scrollHeight); }
  if (was.n >= 0 && was.n < count) {
    const el = await show(was.n);
    if (el) window.scrollBy(0, el.getBoundingClientRect().top - was.dy);
  }
};
const every = +document.body.dataset.reload;
const reloadLater = () => setTimeout(() => {
  if (document.hidden || !paused || document.activeElement === $('q') || $('keys').open || getSelection()?.toString()) return reloadLater();
  history.replaceState({boswell: state()}, '');
  location.reload();
}, every * 1000);

if (count) await draw(0);
root.style.setProperty('--top', top() + 'px');
if (!every) filter(); else { filter(); history.scrollRestoration = 'manual'; }
const was = history.state?.boswell;
if (was && every) await back(was);
else if (location.hash) await goHash();
paint();
root.dataset.ready = 'yes';
/* Start only after the position is restored; otherwise a slow browser would save the wrong position and lose the old one. */
if (every) reloadLater();
(globalThis.requestIdleCallback || setTimeout)(async () => {
  await parsed;
  if (document.documentElement.textContent.length > 24e6) return;
  for (let b = 0; b < blocks.length; b++) ready.set(b, await load('b' + b));
});
})();
