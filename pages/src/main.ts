import "./style.css";
import { h } from "./dom";
import { runPage } from "./run_page";
import { studyPage } from "./study_page";

const main = document.getElementById("page")!;
const { page, assets = "" } = document.body.dataset;

(page === "study" ? studyPage(main) : runPage(main, assets)).catch((error: Error) => {
  main.replaceChildren(h("p", { class: "problem", role: "alert" }, h("b", {}, "This page cannot be shown."), ` ${error.message}`));
  document.body.dataset.ready = "failed";
});
