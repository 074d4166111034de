// Shows a local time in UTC while it is typed. If the clocks go back over that time, it asks which of two is meant.
// The server checks the time again.
const DAY_MS = 86_400_000;

function partsOf(moment, timeZone, options, language = "en") {
  const format = new Intl.DateTimeFormat(language, { timeZone, hourCycle: "h23", ...options });
  return Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
}

// The offset of a zone from UTC at a moment, in milliseconds.
function offsetAt(moment, zone) {
  const names = ["year", "month", "day", "hour", "minute", "second"];
  const parts = partsOf(moment, zone, Object.fromEntries(names.map((name) => [name, "numeric"])));
  const there = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
  return there - Math.floor(moment / 1000) * 1000;
}

// The moments that a local time may mean: none or two around a change of the clocks, otherwise one.
function momentsOf(local, zone) {
  const asUtc = Date.parse(`${local}Z`);
  const offsets = new Set([offsetAt(asUtc - DAY_MS, zone), offsetAt(asUtc + DAY_MS, zone)]);
  return [...offsets]
    .map((offset) => asUtc - offset)
    .filter((moment) => moment + offsetAt(moment, zone) === asUtc)
    .sort((a, b) => a - b);
}

const dayAndTime = (moment) => {
  const parts = partsOf(moment, "UTC", { weekday: "short", day: "numeric", month: "short", year: "numeric",
    hour: "2-digit", minute: "2-digit" }, document.documentElement.lang);
  return `${parts.weekday} ${parts.day} ${parts.month} ${parts.year}, ${parts.hour}:${parts.minute}`;
};

function words(moment, zone) {
  const local = dayAndTime(moment + offsetAt(moment, zone));
  const utc = dayAndTime(moment);
  if (zone === "UTC") return `${local} UTC`;
  const sameDay = local.split(",")[0] === utc.split(",")[0];
  return `${local} ${zone} (${sameDay ? utc.slice(-5) : utc.replace(/ \d{4},/, ",")} UTC)`;
}

for (const part of document.querySelectorAll("[data-when]")) {
  const form = part.closest("form");
  const at = form.elements.at;
  const zone = form.elements.zone;
  const choice = form.elements.when; // a scheduled issue has none, because it always has a time
  const said = part.querySelector("[data-when-said]");
  const which = part.querySelector("[data-when-which]");

  function say() {
    const isAt = !choice || choice.value === "at";
    at.required = isAt;
    for (const words of form.querySelectorAll("[data-when-now]")) words.hidden = isAt;
    for (const words of form.querySelectorAll("[data-when-later]")) words.hidden = !isAt;
    let moments = null;
    try {
      moments = isAt && at.value ? momentsOf(at.value, zone.value) : null;
    } catch {
      // This browser does not know the zone, but the server does.
    }
    const twice = moments?.length === 2;
    which.hidden = which.disabled = !twice;
    if (twice) {
      part.querySelector("[data-when-first]").textContent = `: ${words(moments[0], zone.value)}`;
      part.querySelector("[data-when-second]").textContent = `: ${words(moments[1], zone.value)}`;
    }
    if (moments === null) {
      said.textContent = said.dataset.unsaid;
    } else if (moments.length === 0) {
      said.textContent = part.dataset.never;
    } else if (twice && !form.elements.which.value) {
      said.textContent = part.dataset.twice;
    } else {
      const moment = moments[form.elements.which.value === "second" && twice ? 1 : 0];
      const sentence = moment <= Date.now() ? part.dataset.past : part.dataset.future;
      said.textContent = sentence.replace("{time}", () => words(moment, zone.value));
    }
  }

  // Typing a time chooses “Schedule”. Choosing “Now” clears the time until “Schedule” is chosen again.
  let named = "";
  function choose(field) {
    if (choice && field === at && at.value) choice.value = "at";
    if (field.name !== "when") return;
    if (field.value === "at") at.value ||= named;
    else if (at.value) [named, at.value] = [at.value, ""];
  }

  for (const name of ["input", "change"]) {
    part.addEventListener(name, (event) => {
      choose(event.target);
      say();
    });
  }
  // The time may have been typed before this script ran.
  if (at.value !== at.defaultValue) choose(at);
  say();
  // The page opens at its top, so scroll to the error.
  const wrong = part.querySelector(".error");
  if (wrong) {
    at.focus({ preventScroll: true });
    wrong.scrollIntoView({ block: "center" });
  }
}
