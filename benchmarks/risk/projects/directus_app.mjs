// Directus with a bakery: `node directus_app.mjs WORKDIR PORT PUBLIC PASSWORD`; port 0 only makes the data.
// It runs in the application's own environment, with the SQLite of Node: its driver would have to be compiled.

import Module from "node:module";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

const [work, port, site, password] = process.argv.slice(2);
const modules = path.resolve(process.execPath, "../../..");
const of = (name) => import(pathToFileURL(path.join(modules, "@directus/api/dist", `${name}.js`)));
const NOWHERE = "http://127.0.0.1:1";

Object.assign(process.env, {
  ADMIN_EMAIL: "owner@example.org",
  ADMIN_PASSWORD: password,
  AI_ENABLED: "false",
  MCP_ENABLED: "false",
  CACHE_SCHEMA: "false",
  CONFIG_PATH: path.join(work, "none"),
  DB_CLIENT: "sqlite3",
  DB_FILENAME: path.join(work, "data.db"),
  EMAIL_SENDMAIL_PATH: path.join(work, "cache/mail"),
  EMAIL_VERIFY_SETUP: "false",
  EXTENSIONS_PATH: path.join(work, "extensions"),
  HASH_MEMORY_COST: "1024",
  HOST: "127.0.0.1",
  PORT: port,
  LOG_LEVEL: "warn",
  PUBLIC_URL: site,
  COMPLIANCE_URL: NOWHERE,
  MARKETPLACE_REGISTRY: NOWHERE,
  TELEMETRY: "false",
  TELEMETRY_URL: NOWHERE,
  PRESSURE_LIMITER_ENABLED: "false",
  SECRET: "of one seeded folder that nobody else has, long enough for its own checks",
  SESSION_COOKIE_TTL: "30d",
  SESSION_REFRESH_GRACE_PERIOD: "30d", // each load renews the login: the first one stays valid
  STORAGE_LOCAL_ROOT: path.join(work, "uploads"),
  TEMP_PATH: path.join(work, "cache"),
});

/** What Knex uses of the package sqlite3. */
class Database {
  constructor(file, flags, done) {
    this.database = new DatabaseSync(file, { enableDoubleQuotedStringLiterals: true });
    this.database.exec("PRAGMA busy_timeout = 5000");
    setImmediate(done, null);
  }

  run(sql, values, done) {
    this.act(
      (statement, given) => {
        const { lastInsertRowid, changes } = statement.run(...given);
        return [{ lastID: Number(lastInsertRowid), changes: Number(changes) }];
      },
      sql,
      values,
      done,
    );
  }

  all(sql, values, done) {
    this.act((statement, given) => [{}, statement.all(...given).map((row) => ({ ...row }))], sql, values, done);
  }

  act(does, sql, values = [], done = () => {}) {
    try {
      const given = values.map((each) =>
        typeof each === "boolean" ? Number(each) : each instanceof Date ? each.getTime() : (each ?? null),
      );
      const [context, rows] = does(this.database.prepare(sql), given);
      setImmediate(() => done.call(context, null, rows));
    } catch (error) {
      if (/constraint failed/.test(error.message)) error.message = `SQLITE_CONSTRAINT: ${error.message}`;
      setImmediate(() => done.call({}, error));
    }
  }

  close(done) {
    this.database.close();
    setImmediate(done, null);
  }
}

// What runs the scripts of flows and extensions would have to be compiled too: there are none.
const driver = { Database, OPEN_READWRITE: 2, OPEN_CREATE: 4, verbose: () => driver };
const instead = { sqlite3: driver, "./out/isolated_vm": { ivm: {} } };
const load = Module._load;
Module._load = (name, ...rest) => instead[name] ?? load(name, ...rest);

if (port !== "0") {
  await of("start");
} else {
  await seed();
  process.exit(0);
}

async function seed() {
  for (const name of ["uploads", "extensions", "cache"]) mkdirSync(path.join(work, name), { recursive: true });
  writeFileSync(process.env.EMAIL_SENDMAIL_PATH, "#!/bin/sh\nexec cat >/dev/null\n", { mode: 0o755 });
  writeFileSync(path.join(work, "package.json"), "{}\n");
  const database = (await of("database/index")).default();
  await (await of("database/seeds/run")).default(database);
  await (await of("database/migrations/run")).default(database, "latest");
  const { getSchema } = await of("utils/get-schema");
  const services = await of("services/index");
  const id = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
  const owner = { user: id(1), role: id(2), roles: [id(2)], admin: true, app: true, ip: "127.0.0.1" };
  const service = async (name, ...rest) =>
    new services[`${name}Service`](...rest, { schema: await getSchema(), accountability: owner });
  const put = async (name, ...each) => {
    for (const one of each) await (await service(name)).createOne(one);
  };
  const rows = async (collection, ...each) => {
    for (const one of each) await (await service("Items", collection)).createOne(one);
  };

  const bare = { schema: await getSchema() };
  await new services.RolesService(bare).createOne({ id: id(2), name: "Administrator", icon: "verified" });
  await new services.PoliciesService(bare).createOne({
    id: id(3),
    name: "Administrator",
    admin_access: true,
    app_access: true,
  });
  await new services.AccessService(bare).createOne({ id: id(4), policy: id(3), role: id(2) });
  await new services.UsersService(bare).createOne({
    id: id(1),
    first_name: "Olga",
    last_name: "Owner",
    email: "owner@example.org",
    password,
    role: id(2),
    status: "active",
  });
  await new services.SettingsService(bare).upsertSingleton({
    project_name: "Bakery",
    project_owner: "owner@example.org",
  });

  const key = {
    field: "id",
    type: "integer",
    meta: { hidden: true, interface: "input", readonly: true },
    schema: { is_primary_key: true, has_auto_increment: true },
  };
  const field = (name, type, look, more = {}) => ({
    field: name,
    type,
    meta: { interface: look, ...more },
    schema: {},
  });
  const STATES = ["published", "draft", "archived"].map((value) => ({
    text: value[0].toUpperCase() + value.slice(1),
    value,
  }));
  const state = {
    ...field("status", "string", "select-dropdown", { options: { choices: STATES }, width: "half" }),
    schema: { default_value: "draft" },
  };
  const sort = field("sort", "integer", "input", { hidden: true });
  const made = field("made", "timestamp", "datetime", { special: ["date-created"], readonly: true, width: "half" });
  const collections = await service("Collections");
  await collections.createOne({
    collection: "categories",
    meta: { icon: "label", display_template: "{{name}}" },
    schema: {},
    fields: [key, field("name", "string", "input", { required: true }), field("color", "string", "select-color")],
  });
  await (
    await service("Collections")
  ).createOne({
    collection: "articles",
    schema: {},
    meta: {
      icon: "article",
      note: "What stands on the site",
      archive_field: "status",
      archive_value: "archived",
      unarchive_value: "draft",
      sort_field: "sort",
      display_template: "{{title}}",
      versioning: true,
    },
    fields: [
      key,
      state,
      sort,
      made,
      field("title", "string", "input", { required: true, width: "half" }),
      field("body", "text", "input-multiline"),
      field("featured", "boolean", "boolean", { special: ["cast-boolean"], width: "half" }),
      field("tags", "json", "tags", { special: ["cast-json"], width: "half" }),
      field("category", "integer", "select-dropdown-m2o", { special: ["m2o"], options: { template: "{{name}}" } }),
      field("sheet", "uuid", "file", { special: ["file"] }),
    ],
  });
  await (
    await service("Collections")
  ).createOne({
    collection: "shop",
    meta: { icon: "storefront", singleton: true },
    schema: {},
    fields: [
      key,
      field("name", "string", "input"),
      field("hours", "text", "input-multiline"),
      field("open", "boolean", "boolean"),
    ],
  });
  await put(
    "Relations",
    { collection: "articles", field: "category", related_collection: "categories", schema: { on_delete: "SET NULL" } },
    {
      collection: "articles",
      field: "sheet",
      related_collection: "directus_files",
      schema: { on_delete: "SET NULL" },
    },
  );

  await put("Folders", { id: id(10), name: "Sheets" });
  await (
    await service("Files")
  ).uploadOne(Readable.from(Buffer.from("Rye,4\nWheat,3\n")), {
    id: id(11),
    title: "Prices",
    filename_download: "prices.csv",
    type: "text/csv",
    storage: "local",
  });
  await (
    await service("Files")
  ).uploadOne(Readable.from(Buffer.from("Flour, water, salt.\n")), {
    id: id(12),
    title: "Recipe",
    filename_download: "recipe.txt",
    type: "text/plain",
    storage: "local",
  });
  await rows("categories", { name: "Bread", color: "#2E7D32" }, { name: "Cakes", color: "#C62828" });
  await rows(
    "articles",
    {
      title: "Our new oven",
      body: "It came from Turku.",
      status: "published",
      category: 1,
      sheet: id(11),
      tags: ["oven"],
      sort: 1,
    },
    { title: "Rye is back", body: "Each Friday.", status: "draft", category: 1, featured: true, sort: 2 },
    {
      title: "Cake of the month",
      body: "With plums.",
      status: "published",
      category: 2,
      tags: ["plum", "autumn"],
      sort: 3,
    },
    { title: "Closed at Easter", body: "As each year.", status: "archived", sort: 4 },
  );
  await (await service("Items", "articles")).updateOne(1, { body: "It came from Turku, by boat." });
  await (
    await service("Items", "shop")
  ).upsertSingleton({ name: "The old mill", hours: "From six to noon.", open: true });

  await put("Roles", { id: id(20), name: "Editor", icon: "edit" });
  await put("Policies", { id: id(21), name: "Editing", icon: "edit_note", app_access: true });
  await put("Access", { id: id(22), policy: id(21), role: id(20) });
  await put(
    "Permissions",
    ...["read", "create", "update"].map((action) => ({
      policy: id(21),
      collection: "articles",
      action,
      fields: ["*"],
      permissions: {},
      validation: {},
    })),
  );
  await put(
    "Users",
    { id: id(23), first_name: "Ann", last_name: "Baker", email: "ann@example.org", role: id(20), status: "active" },
    { id: id(24), first_name: "Ben", last_name: "Miller", email: "ben@example.org", role: id(20), status: "suspended" },
  );
  await put("Comments", { id: id(25), collection: "articles", item: "1", comment: "Who comes to the opening?" });
  await put("Notifications", {
    recipient: id(1),
    sender: id(23),
    subject: "Please read",
    message: "The text on rye.",
    status: "inbox",
  });
  await put("Translations", { id: id(26), key: "oven", language: "en-US", value: "Oven" });
  await put("Dashboards", { id: id(30), name: "Overview", icon: "space_dashboard" });
  await put(
    "Panels",
    {
      id: id(31),
      dashboard: id(30),
      name: "Articles",
      show_header: true,
      type: "metric",
      position_x: 1,
      position_y: 1,
      width: 14,
      height: 8,
      options: { collection: "articles", function: "count", field: "id" },
    },
    {
      id: id(32),
      dashboard: id(30),
      type: "label",
      position_x: 16,
      position_y: 1,
      width: 14,
      height: 8,
      options: { text: "Bake!" },
    },
  );
  await put(
    "Flows",
    {
      id: id(40),
      name: "Note each article",
      status: "active",
      trigger: "event",
      accountability: "all",
      options: { type: "action", scope: ["items.create"], collections: ["articles"] },
    },
    {
      id: id(42),
      name: "Archive old ones",
      status: "inactive",
      trigger: "manual",
      options: { collections: ["articles"] },
    },
  );
  await put("Operations", {
    id: id(41),
    flow: id(40),
    name: "Write it down",
    key: "note",
    type: "log",
    position_x: 19,
    position_y: 1,
    options: { message: "A new article" },
  });
  await (await service("Flows")).updateOne(id(40), { operation: id(41) });
  await put("Presets", {
    bookmark: "Drafts",
    user: id(1),
    collection: "articles",
    filter: { status: { _eq: "draft" } },
  });
  await database("articles").update({ made: Date.UTC(2026, 0, 5, 10) });
  await database.destroy();
}
