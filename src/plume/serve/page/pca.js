// Principal components and cosines, of as many lines as a page can show.

const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; return sum; };
const length = a => Math.sqrt(dot(a, a)) || 1e-12;

export function cosines(vectors) {
  const lengths = vectors.map(length);
  return vectors.map((a, i) => vectors.map((b, j) => dot(a, b) / (lengths[i] * lengths[j])));
}

/** Two coordinates a line and the share of the variance that they show; from the Gram matrix, by power iteration. */
export function components(vectors) {
  const count = vectors.length, width = vectors[0].length;
  const middle = Array.from({ length: width }, (_, at) => vectors.reduce((sum, one) => sum + one[at], 0) / count);
  const centred = vectors.map(one => one.map((value, at) => value - middle[at]));
  const gram = centred.map(a => centred.map(b => dot(a, b)));
  const total = gram.reduce((sum, row, at) => sum + row[at], 0);
  const axes = [];
  for (let axis = 0; axis < 2; axis++) axes.push(largest(gram, axes));
  const places = centred.map((_, at) => axes.map(one => one.vector[at] * Math.sqrt(Math.max(0, one.value))));
  return { places, share: total > 0 ? axes.reduce((sum, one) => sum + Math.max(0, one.value), 0) / total : 1 };
}

function largest(gram, before) {
  let vector = gram.map((_, at) => Math.sin(1 + 2.399 * at)); // a start that is the same every time, along no axis
  let value = 0;
  for (let step = 0; step < 300; step++) {
    for (const other of before) { const along = dot(vector, other.vector); vector = vector.map((one, at) => one - along * other.vector[at]); }
    const next = gram.map(row => dot(row, vector)), size = length(next);
    if (size < 1e-12) break;
    const moved = Math.abs(size - value);
    vector = next.map(one => one / size);
    value = size;
    if (moved < 1e-9 * size && step > 20) break;
  }
  for (const other of before) { const along = dot(vector, other.vector); vector = vector.map((one, at) => one - along * other.vector[at]); }
  const size = length(vector);
  return { vector: vector.map(one => one / size), value };
}
