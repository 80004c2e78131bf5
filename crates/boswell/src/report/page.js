'use strict';
(() => {
  const open = () => {
    const at = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!at) return;
    for (let up = at; up; up = up.parentElement) if (up.tagName === 'DETAILS') up.open = true;
    at.scrollIntoView({ block: 'center' });
  };
  addEventListener('hashchange', open);
  open();
  const box = document.querySelector('input[type=search]');
  const told = document.querySelector('output');
  if (!box) return;
  const items = [...document.querySelectorAll('main li, main .turn, main .day')];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const groups = [...document.querySelectorAll('main .work, main .project, main section')];
  const folds = [...document.querySelectorAll('main details.also')];
  const search = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((word) => text.includes(word));
    let found = 0;
    items.forEach((item, at) => {
      item.hidden = words.length > 0 && !has(texts[at]);
      if (words.length && !item.hidden) found += 1;
    });
    groups.forEach((group) => {
      const title = group.querySelector('h3');
      const named = group.classList.contains('work') && title && has(title.textContent.toLowerCase());
      if (named) group.querySelectorAll('li').forEach((item) => { item.hidden = false; });
    });
    groups.forEach((group) => {
      const inner = [...group.querySelectorAll('li, .turn, .day')];
      group.hidden = words.length > 0 && inner.length > 0 && inner.every((item) => item.hidden);
    });
    if (words.length) folds.forEach((fold) => { fold.open = true; });
    told.textContent = words.length ? found + (found === 1 ? ' place' : ' places') : '';
  };
  const asked = new URLSearchParams(location.search).get('q');
  if (asked) { box.value = asked; search(); }
  box.addEventListener('input', search);
  box.addEventListener('keydown', (event) => { if (event.key === 'Escape') { box.value = ''; search(); } });
  addEventListener('keydown', (event) => { if (event.key === '/' && document.activeElement !== box) { event.preventDefault(); box.focus(); } });
})();
