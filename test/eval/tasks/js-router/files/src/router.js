import {split} from './path.js';
import {parseQuery} from './query.js';

export class Router {
  #routes = [];

  /** Adds a route such as /users/:id or /static/*. */
  add(pattern, name) {
    this.#routes.push({parts: split(pattern), name});
    this.#routes.sort((a, b) => b.parts.length - a.parts.length);
    return this;
  }

  /** Returns {name, params, query} of the route for a URL, or null. */
  match(url) {
    const [path, query = ''] = url.split('?');
    const parts = split(path);
    for (const route of this.#routes) {
      const params = fit(route.parts, parts);
      if (params) return {name: route.name, params, query: parseQuery(query)};
    }
    return null;
  }
}

function fit(pattern, parts) {
  const params = {};
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] === '*') return params;
    if (pattern[i].startsWith(':')) {
      if (parts[i] === undefined) return null;
      params[pattern[i].slice(1)] = parts[i];
    } else if (pattern[i] !== parts[i]) return null;
  }
  return pattern.length === parts.length ? params : null;
}
