// The Lounge over an IRC server of its own: `node thelounge_app.cjs WORKDIR PORT PASSWORD`; port 0 only makes the data.
// It runs in the application's own environment. All that its pages do goes over one socket.

const { mkdirSync, readFileSync, readdirSync, writeFileSync } = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const path = require("node:path");

const [work, port, password] = process.argv.slice(2);
const modules = path.resolve(process.execPath, "../../..");
const of = (name) => require(path.join(modules, name));
const store = path.join(work, "store");
const IRC = Number(port) + 2_000;
const read = (name) => JSON.parse(readFileSync(path.join(store, `${name}.json`), "utf-8"));
const known = new Map();
const write = (name, value) => {
  const text = JSON.stringify(value, null, 1);
  if (known.get(name) !== text) writeFileSync(path.join(store, `${name}.json`), text);
  known.set(name, text);
};

const network = (name, uuid, rest, channels) => ({
  uuid: `00000000-0000-4000-8000-00000000000${uuid}`, name, host: "127.0.0.1", tls: false, rejectUnauthorized: true, password: "",
  nick: "owner", username: "owner", realname: "Owner", leaveMessage: "", sasl: "", saslAccount: "", saslPassword: "", commands: [],
  ignoreList: [], proxyEnabled: false, proxyHost: "", proxyPort: 1080, proxyUsername: "", proxyPassword: "",
  channels: channels.map((each) => ({ type: each.startsWith("#") ? "channel" : "query", name: each })), ...rest,
});

if (port === "0") {
  mkdirSync(store);
  write("password", of("bcryptjs").hashSync(password, 11));
  write("log", false);
  write("clientSettings", {});
  write("sessions", {});
  write("networks", [
    network("Orchard", 1, {}, ["#bread", "#boats", "ann"]),
    network("Elsewhere", 2, { userDisconnected: true, ignoreList: [] }, ["#old"]),
  ]);
  write("shown", {});
  write("topics", { "#bread": "Flour and water", "#boats": "Sunday at ten" });
  write("said", []);
  process.exit();
}

// What is in its file, and what only its memory has, as files that tell what changed; times of use are left out.
const home = path.join(work, ".local", "lounge");
for (const folder of ["users", "packages"]) mkdirSync(path.join(home, folder), { recursive: true });
writeFileSync(path.join(home, "packages", "package.json"), '{"dependencies":{}}');
const kept = Object.fromEntries(readdirSync(store).map((each) => [path.parse(each).name, read(path.parse(each).name)]));
const { shown, topics, said, ...owner } = kept;
owner.networks = owner.networks.map((each) => ({ ...each, port: IRC }));
for (const token of Object.keys(owner.sessions)) owner.sessions[token] = { lastUse: 0, ip: "127.0.0.1", agent: "Chromium" };
writeFileSync(path.join(home, "users", "owner.json"), JSON.stringify(owner));
writeFileSync(path.join(home, "config.js"), `module.exports = ${JSON.stringify({
  public: false, host: "127.0.0.1", port: Number(port), reverseProxy: false, messageStorage: [], prefetch: false, theme: "default",
  transports: ["websocket"], // with the address of each poll another one
})}`);

/** An IRC server with two others who say nothing. */
const members = { "#bread": ["ann", "ben"], "#boats": ["ben"] };
const tell = () => {
  write("topics", topics);
  write("said", said);
  write("members", members);
};
net.createServer((socket) => {
  let nick = "owner", rest = "";
  const say = (line) => socket.write(`${line}\r\n`);
  const answer = (code, text) => say(`:irc ${code} ${nick} ${text}`);
  const names = (where) => {
    answer("353", `= ${where} :${(members[where] || []).join(" ")}`);
    answer("366", `${where} :End`);
  };
  const leave = (where) => {
    members[where] = (members[where] || []).filter((each) => each !== nick);
    if (members[where].length === 0) delete members[where];
  };
  const acts = {
    CAP: ([kind]) => kind === "LS" && say("CAP * LS :"),
    NICK: ([name]) => {
      for (const each of Object.values(members)) if (each.includes(nick)) each[each.indexOf(nick)] = name;
      say(`:${nick}!u@h NICK ${name}`);
      nick = name;
    },
    USER: () => {
      answer("001", ":Welcome");
      answer("005", "CHANTYPES=# NETWORK=Orchard PREFIX=(o)@ :are supported");
      answer("422", ":No message of the day");
    },
    PING: ([text]) => say(`:irc PONG irc :${text}`),
    JOIN: ([all]) => {
      for (const where of all.split(",")) {
        (members[where] ||= []).push(nick);
        say(`:${nick}!u@h JOIN ${where}`);
        if (topics[where]) answer("332", `${where} :${topics[where]}`);
        names(where);
      }
    },
    PART: ([where]) => {
      leave(where);
      say(`:${nick}!u@h PART ${where}`);
    },
    TOPIC: ([where, text]) => {
      topics[where] = text;
      say(`:${nick}!u@h TOPIC ${where} :${text}`);
    },
    PRIVMSG: (words) => said.push(words),
    NOTICE: (words) => said.push(words),
    AWAY: (words) => said.push(["AWAY", ...words]),
    KICK: ([where, whom]) => said.push(["KICK", where, whom]),
    INVITE: (words) => said.push(["INVITE", ...words]),
    NAMES: ([where]) => names(where),
    WHO: ([where]) => answer("315", `${where} :End`),
    WHOIS: ([whom]) => {
      answer("311", `${whom} u h * :${whom}`);
      answer("318", `${whom} :End`);
    },
    LIST: () => {
      answer("321", "Channel :Users");
      for (const [where, here] of Object.entries(members)) answer("322", `${where} ${here.length} :${topics[where] || ""}`);
      answer("323", ":End");
    },
    MODE: ([where, mode]) => mode ? said.push(["MODE", where, mode]) : answer("324", `${where} +nt`),
    QUIT: () => socket.end(),
  };
  socket.on("data", (data) => {
    const lines = (rest + data).split("\r\n");
    rest = lines.pop();
    for (const line of lines) {
      const [head, ...text] = line.replace(/^@\S+ /, "").split(" :");
      const [command, ...words] = head.split(" ");
      acts[command.toUpperCase()]?.(text.length ? [...words, text.join(" :")] : words);
      tell();
    }
  });
  socket.on("close", () => {
    Object.keys(members).forEach(leave);
    tell();
  });
  socket.on("error", () => {});
}).listen(IRC, "127.0.0.1");

// Nobody is answered until it is in its channels.
let ready = false;
const filled = {};
const make = http.createServer;
http.createServer = (app) => make((request, response) => {
  if (ready) return app(request, response);
  response.statusCode = 503;
  return response.end();
});

const Manager = of("thelounge/dist/server/clientManager.js").default;
const load = Manager.prototype.loadUsers;
Manager.prototype.loadUsers = function () {
  load.call(this);
  setInterval(() => {
    const client = this.findClient("owner");
    if (!client) return;
    ready ||= ["#bread", "#boats"].every((each) => members[each].includes("owner"));
    if (!ready) return;
    const { networks, sessions, browser, ...settings } = JSON.parse(this.getDataToSave(client).newUser);
    for (const [name, value] of Object.entries(settings)) write(name, value);
    write("networks", networks);
    write("sessions", Object.fromEntries(Object.keys(sessions).map((each) => [each, {}])));
    // What is only shown, as an answer to a question, changes nothing; a window that was emptied has lost what it had.
    for (const { name, channels } of client.networks) {
      for (const each of channels) {
        const key = `${name} ${each.name}`;
        filled[key] ||= each.messages.length > 0;
        shown[key] = { emptied: filled[key] && each.messages.length === 0, pinned: each.pinned, muted: each.muted };
      }
    }
    write("shown", shown);
  }, 40);
};

process.env.THELOUNGE_HOME = home;
const config = of("thelounge/dist/server/config.js").default;
config.setHome(home);
of("thelounge/dist/server/server.js").default({ dev: false });
