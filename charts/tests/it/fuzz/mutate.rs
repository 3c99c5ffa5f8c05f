//! Published files with small accidents: what a person or an editor does to them.

use super::dice::Dice;

const WORDS: &[&str] = &[
    "${UNSET:-x}",
    "${SET}",
    "$$",
    "${UNSET?no}",
    "${EMPTY:+y}",
    "true",
    "null",
    "~",
    "0123",
    "1e3",
    "\"q\"",
    "'s'",
    "[a, b]",
    "{a: b}",
    "yes",
    "1.0",
    "- x",
    "#",
    "*x",
    "&x y",
    "!!str 1",
    "|",
    ">-",
    "2024-01-01",
    "\"a\\tb\"",
    ":",
    "x:",
    "%",
    "@",
    "`",
    "${",
    "${A:-${B:-c}}",
    "<<",
    "\t",
    " ",
    "ä",
];

const LINES: &[&str] = &[
    "    restart: always",
    "      - \"A=b\"",
    "    environment:",
    "    ports: [\"80:80\"]",
    "    x-a: 1",
    "# note",
    "",
    "    labels: {a: b}",
    "    mem_limit: 1g",
    "networks: {}",
    "    tty: true",
    "    <<: {tty: true}",
    "    volumes: [\"./q:/q\"]",
    "      A: b",
    "    user: 1000",
    "    expose: [80]",
    "---",
    "...",
];

/// The file with one to three accidents.
pub(crate) fn mutate(dice: &mut Dice, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(3) {
        if lines.is_empty() {
            break;
        }
        let at = dice.below(lines.len());
        match dice.below(9) {
            0 => {
                lines.remove(at);
            }
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.insert(at, dice.pick(LINES).to_owned()),
            3 => lines[at].insert_str(0, dice.pick(&[" ", "  ", "    "])),
            4 => {
                let spaces = lines[at].len() - lines[at].trim_start().len();
                let cut = dice.below(spaces + 1);
                lines[at].replace_range(..cut, "");
            }
            5 => replace_value(dice, &mut lines[at]),
            6 => insert_word(dice, &mut lines[at]),
            7 => {
                let end = lines.len();
                let other = (at + 1).min(end - 1);
                lines.swap(at, other);
            }
            _ => delete_character(dice, &mut lines[at]),
        }
    }
    lines.join("\n") + "\n"
}

fn replace_value(dice: &mut Dice, line: &mut String) {
    if let Some(colon) = line.find(": ") {
        line.truncate(colon + 2);
        line.push_str(dice.pick(WORDS));
    }
}

fn insert_word(dice: &mut Dice, line: &mut String) {
    let places: Vec<usize> = line.char_indices().map(|(index, _)| index).chain([line.len()]).collect();
    let at = dice.pick(&places);
    line.insert_str(at, dice.pick(WORDS));
}

fn delete_character(dice: &mut Dice, line: &mut String) {
    let places: Vec<usize> = line.char_indices().map(|(index, _)| index).collect();
    if !places.is_empty() {
        line.remove(dice.pick(&places));
    }
}
