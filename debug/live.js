// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests the page repeatedly and replaces its content. The server renders everything: the script
// moves elements of the new page into the old one, and creates none from texts.
(function () {
  'use strict';
  var every = 1000 * Number(document.body.dataset.every), answered = new Date();
  var note = document.getElementById('live');

  function say(text, old) {
    if (note.textContent !== text) note.textContent = text;
    document.body.classList.toggle('old', old);
  }

  // The scroll positions of tables and the focused link are kept.
  function show(fresh) {
    var main = document.getElementById('informers');
    var scrolled = Array.from(main.querySelectorAll('.scroll'), function (e) { return e.scrollLeft; });
    var focused = main.contains(document.activeElement) && document.activeElement.getAttribute('href');
    main.replaceWith(document.adoptNode(fresh));
    fresh.querySelectorAll('.scroll').forEach(function (e, i) { e.scrollLeft = scrolled[i] || 0; });
    fresh.querySelectorAll('a').forEach(function (a) {
      if (focused && a.getAttribute('href') === focused) a.focus({ preventScroll: true });
    });
  }

  function reads() {
    var selection = getSelection();
    return !selection.isCollapsed && document.getElementById('informers').contains(selection.anchorNode);
  }

  // A slow page is requested less often: requests take at most a twentieth of the time.
  function later(took) { setTimeout(ask, Math.max(every, 20 * took)); }

  function lost(took) {
    say('No answer since ' + answered.toLocaleTimeString() + ': what follows is old.', true);
    later(took);
  }

  function ask() {
    if (document.hidden) {
      document.addEventListener('visibilitychange', ask, { once: true });
      return;
    }
    var began = Date.now(), request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.timeout = 60000;
    request.onerror = request.ontimeout = function () { lost(Date.now() - began); };
    request.onload = function () {
      var fresh = request.response && request.response.getElementById('informers');
      if (!fresh) return lost(Date.now() - began);
      answered = new Date();
      var gone = request.status >= 400; // permanently
      if (gone || !reads()) show(fresh);
      say(gone ? '' : 'Refreshed every ' + every / 1000 + ' s.', false);
      if (!gone) later(Date.now() - began);
    };
    request.send();
  }

  if (!every) return;
  say('Refreshed every ' + every / 1000 + ' s.', false);
  later(0);
})();
