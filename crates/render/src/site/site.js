'use strict';
(() => {
const $ = id => document.getElementById(id), root = document.documentElement;
const rows = [...document.querySelectorAll('.session')];
const names = {claude: 'Claude Code', codex: 'Codex CLI', grok: 'Grok'};
for (const agent of new Set(rows.map(row => row.dataset.a))) {
  const option = document.createElement('option');
  option.value = agent;
  option.textContent = names[agent] || agent;
  $('agent').append(option);
}
const bytes = text => Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), one => one.charCodeAt(0));
const parsed = document.readyState === 'loading' ? new Promise(done => addEventListener('DOMContentLoaded', done, {once: true})) : Promise.resolve();
const kept = new Map();
const words = at => {
  if (!kept.has(at)) kept.set(at, (async () => {
    await parsed;
    const text = await new Response(new Blob([bytes($('w' + at).textContent)]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
    const cut = text.indexOf('\0');
    return {said: text.slice(0, cut), low: text.slice(0, cut).toLowerCase(), words: text.slice(cut + 1)};
  })());
  return kept.get(at);
};
let project = null, ticket = 0;
const fits = row => (!project || row.dataset.p === project) && (!$('agent').value || row.dataset.a === $('agent').value);
const show = (row, is) => { row.hidden = !is; };
const settle = (count, text) => {
  for (const day of document.querySelectorAll('.day')) day.hidden = ![...day.querySelectorAll('.session')].some(row => !row.hidden);
  $('nothing').hidden = count > 0;
  $('hits').textContent = text;
};
const snippet = (row, text, at, length) => {
  const box = row.querySelector('.snip');
  box.replaceChildren();
  box.hidden = at < 0 && !text;
  if (at < 0) { box.textContent = text; return; }
  const from = Math.max(0, at - 70), one = part => part.replace(/\s+/g, ' ');
  const mark = document.createElement('mark');
  mark.textContent = one(text.slice(at, at + length));
  box.append((from ? '…' : '') + one(text.slice(from, at)), mark, one(text.slice(at + length, at + length + 130)) + '…');
};
const ask = async () => {
  const mine = ++ticket, query = $('q').value.trim(), terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at], link = row.querySelector('a');
    const page = link.getAttribute('href').split('#')[0];
    link.setAttribute('href', page);
    row.querySelector('.snip').hidden = true;
    if (!fits(row)) { show(row, false); continue; }
    if (!terms.length) { show(row, true); count++; continue; }
    const all = await words(at);
    if (mine !== ticket) return;
    const title = link.textContent.toLowerCase(), phrase = all.low.indexOf(query.toLowerCase());
    const has = term => title.includes(term) || all.low.includes(term) || all.words.includes(term);
    const is = phrase >= 0 || terms.every(has);
    show(row, is);
    if (!is) continue;
    count++;
    const first = phrase >= 0 ? phrase : all.low.indexOf(terms[0]);
    if (first >= 0) snippet(row, all.said, first, phrase >= 0 ? query.length : terms[0].length);
    else if (!title.includes(terms[0])) snippet(row, 'in what tools were asked or gave back', -1, 0);
    link.setAttribute('href', page + '#q=' + encodeURIComponent(phrase >= 0 ? query : terms.find(term => all.low.includes(term) || all.words.includes(term)) || query));
    if (at % 40 === 0) $('hits').textContent = count + ' …';
  }
  settle(count, terms.length ? (count === 1 ? '1 session' : count + ' sessions') : '');
};
let timer;
$('q').addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
$('find').addEventListener('submit', event => { event.preventDefault(); document.querySelector('.session:not([hidden]) a')?.focus(); });
$('agent').addEventListener('change', ask);
for (const button of document.querySelectorAll('.project')) button.addEventListener('click', () => {
  project = project === button.dataset.p ? null : button.dataset.p;
  for (const one of document.querySelectorAll('.project')) one.setAttribute('aria-pressed', String(one.dataset.p === project));
  ask();
});
try { const theme = localStorage.getItem('boswell-theme'); if (theme === 'light' || theme === 'dark') root.classList.add(theme); } catch { /* storage is disabled */ }
$('theme').addEventListener('click', () => {
  const dark = root.classList.contains('dark') || (!root.classList.contains('light') && matchMedia('(prefers-color-scheme:dark)').matches);
  root.classList.remove('light', 'dark');
  root.classList.add(dark ? 'light' : 'dark');
  try { localStorage.setItem('boswell-theme', dark ? 'light' : 'dark'); } catch { /* storage is disabled */ }
});
addEventListener('keydown', event => {
  if (event.target.closest('input,select')) { if (event.key === 'Escape') { $('q').value = ''; ask(); event.target.blur(); } return; }
  if (event.key === '/') { event.preventDefault(); $('q').focus(); }
  if (event.key === 'j' || event.key === 'k') {
    const seen = rows.filter(row => !row.hidden).map(row => row.querySelector('a')), at = seen.indexOf(document.activeElement);
    seen[Math.min(seen.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)))]?.focus();
  }
});
root.dataset.ready = 'yes';
})();
